"""Default credentials: a reachable server refuses to start with them."""

import doctest
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from auth import weak_passwords
from auth.accounts import bootstrap_administrator
from auth.passwords import Passwords
from auth.weak_passwords import WELL_KNOWN, refuse_guessable_password
from config import InvalidSetting

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def passwords() -> Passwords:
    return Passwords(lambda function, *args, **kwargs: function(*args, **kwargs))


@pytest.mark.parametrize("given", ["admin", "Password", "short", "boss", *WELL_KNOWN])
def test_guessable_password_stops_a_reachable_server(passwords, given):
    with pytest.raises(InvalidSetting) as refusal:
        refuse_guessable_password(passwords, "boss", given, ["0.0.0.0"])
    assert "WEIR_ADMIN_PASSWORD" in str(refusal.value)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["::1", "127.9.9.9"], ["localhost"]])
def test_loopback_may_have_any_password(passwords, addresses):
    refuse_guessable_password(passwords, "admin", "admin", addresses)


@pytest.mark.usefixtures("database")
def test_guessable_password_that_was_set_on_loopback_stops_a_later_reachable_start(passwords):
    bootstrap_administrator(passwords, "admin", "changeme", datetime(2026, 1, 2, tzinfo=UTC))

    with pytest.raises(InvalidSetting):
        refuse_guessable_password(passwords, "admin", None, ["127.0.0.1", "192.0.2.1"])


@pytest.mark.usefixtures("database")
def test_generated_and_long_passwords_are_fine_everywhere(passwords):
    refuse_guessable_password(passwords, "admin", "correct-horse-battery-staple", ["0.0.0.0"])
    bootstrap_administrator(passwords, "admin", None, datetime(2026, 1, 2, tzinfo=UTC))

    refuse_guessable_password(passwords, "admin", None, ["::"])


@pytest.mark.parametrize(
    ("address", "more", "code"),
    [
        ("0.0.0.0", {}, 1),
        ("127.0.0.1", {}, 0),
        ("127.0.0.1", {"WEIR_TRUSTED_PROXIES": "1"}, 1),
        ("127.0.0.1", {"WEIR_PUBLIC_URL": "https://weir.example"}, 1),
        ("127.0.0.1", {"WEIR_PUBLIC_URL": "http://localhost:8000"}, 0),
    ],
)
def test_start_of_the_service_checks_where_it_is_reached(database_url, tmp_path, address, more, code):
    settings = {"WEIR_DATA_DIR": str(tmp_path), "WEIR_DATABASE_URL": database_url, "WEIR_ADMIN_PASSWORD": "admin"}

    done = subprocess.run(
        [sys.executable, "bootstrap.py", "start", address],
        cwd=ROOT,
        env=os.environ | settings | more,
        capture_output=True,
    )

    assert done.returncode == code, done.stderr
    assert (b"WEIR_ADMIN_PASSWORD" in done.stderr) == bool(code)


def test_examples_run():
    assert doctest.testmod(weak_passwords) == (0, 2)
