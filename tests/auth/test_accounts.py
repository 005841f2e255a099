"""The first administrator."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from auth.accounts import bootstrap_administrator
from auth.passwords import Passwords
from errors import InvalidName
from models import role, user
from models.tenant import DEFAULT

NOW = datetime(2026, 1, 2, tzinfo=UTC)

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def passwords() -> Passwords:
    return Passwords(lambda function, *args, **kwargs: function(*args, **kwargs))


def test_first_start_generates_a_password_and_shows_it(passwords):
    shown = bootstrap_administrator(passwords, "admin", None, NOW)

    assert passwords.verify(user.get(DEFAULT, "admin").password_hash, shown)
    assert role.get(DEFAULT, "admin").entries == [{"privilege": "admin"}]


def test_first_start_takes_the_given_password_and_shows_nothing(passwords):
    assert bootstrap_administrator(passwords, "root", "given password", NOW) is None
    assert passwords.verify(user.get(DEFAULT, "root").password_hash, "given password")


def test_later_start_changes_nothing(passwords):
    bootstrap_administrator(passwords, "admin", "first", NOW)

    assert bootstrap_administrator(passwords, "other", None, NOW) is None
    assert [each.name for each in user.list_all(DEFAULT)] == ["admin"]
    assert passwords.verify(user.get(DEFAULT, "admin").password_hash, "first")


def test_concurrent_first_starts_make_one_administrator(passwords):
    with ThreadPoolExecutor(4) as pool:
        shown = list(pool.map(lambda _: bootstrap_administrator(passwords, "admin", None, NOW), range(8)))

    (password,) = [each for each in shown if each is not None]
    assert passwords.verify(user.get(DEFAULT, "admin").password_hash, password)


def test_name_that_basic_cannot_carry_is_refused(passwords):
    with pytest.raises(InvalidName):
        bootstrap_administrator(passwords, "ad:min", None, NOW)
