"""SET, SHOW and RESET: what would change answers takes the value that Weir computes with, and no other."""

import pytest

from pgwire.errors import PgError
from pgwire.search_path import search_path
from pgwire.settings import SessionSettings


@pytest.fixture
def settings() -> SessionSettings:
    return SessionSettings({"server_version": "16.14", "server_version_num": "160014", "session_authorization": "ann"})


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("TimeZone", "UTC", "UTC"),
        ("timezone", "GMT", "GMT"),
        ("time zone", "europe/berlin", "Europe/Berlin"),
        ("DateStyle", "ISO", "ISO, MDY"),
        ("client_encoding", "utf-8", "UTF8"),
        ("extra_float_digits", "3", "3"),
        ("statement_timeout", "5s", "5s"),
        ("jit", "false", "off"),
        ("application_name", "x", "x"),
        ("my.own", "1", "1"),
        ("bytea_output", "hex", "hex"),
    ],
)
def test_a_value_that_is_taken_is_shown(settings: SessionSettings, name: str, value: str, shown: str):
    settings.set(name, value)

    assert settings.show(name).value == shown


@pytest.mark.parametrize(
    ("name", "value", "sqlstate"),
    [
        ("TimeZone", "Europe/Atlantis", "22023"),
        ("DateStyle", "German", "22023"),
        ("IntervalStyle", "iso_8601", "22023"),
        ("client_encoding", "latin1", "22023"),
        ("standard_conforming_strings", "off", "22023"),
        ("default_transaction_read_only", "off", "22023"),
        ("bytea_output", "escape", "22023"),
        ("statement_timeout", "soon", "22023"),
        ("role", "postgres", "22023"),
        ("server_version", "9", "55P02"),
        ("session_replication_role", "replica", "55P02"),
        ("no_such", "1", "42704"),
        ("application_name", "x" * 2_000, "22023"),
    ],
)
def test_a_value_that_would_change_answers_is_refused(settings: SessionSettings, name: str, value: str, sqlstate: str):
    with pytest.raises(PgError) as caught:
        settings.set(name, value)

    assert caught.value.sqlstate == sqlstate


def test_a_rollback_brings_back_what_was_set_before(settings: SessionSettings):
    settings.set("application_name", "before")
    settings.commit()
    settings.begin()
    settings.set("application_name", "within")

    settings.roll_back()

    assert settings.show("application_name").value == "before"


def test_set_local_ends_with_the_transaction(settings: SessionSettings):
    settings.begin()
    settings.set("statement_timeout", "1s", is_local=True)
    assert settings.statement_timeout_seconds() == 1

    settings.commit()

    assert settings.statement_timeout_seconds() is None


def test_a_set_after_a_set_local_outlives_the_transaction(settings: SessionSettings):
    settings.begin()
    settings.set("application_name", "local", is_local=True)
    settings.set("application_name", "set")

    settings.commit()

    assert settings.show("application_name").value == "set"


@pytest.mark.parametrize("name", ["application_name", None])
def test_a_reset_after_a_set_local_outlives_the_transaction(settings: SessionSettings, name: str | None):
    settings.set("application_name", "before")
    settings.commit()
    settings.set("application_name", "local", is_local=True)
    settings.reset(name)

    settings.commit()

    assert settings.show("application_name").value == ""


def test_a_savepoint_can_be_gone_back_to_twice(settings: SessionSettings):
    settings.begin()
    settings.set("application_name", "outer", is_local=True)
    settings.save()
    for _ in range(2):
        settings.set("application_name", "inner")
        settings.roll_back_to(1)
        assert settings.show("application_name").value == "outer"

    settings.commit()

    assert settings.show("application_name").value == ""


def test_reset_goes_back_to_what_the_client_began_with(settings: SessionSettings):
    settings.start({"application_name": "psql", "TimeZone": "Europe/Berlin"})
    settings.set("TimeZone", "UTC")
    settings.set("application_name", "other")

    settings.reset()

    assert settings.show("application_name").value == "psql"
    assert settings.reported()["TimeZone"] == "Europe/Berlin"


def test_a_machines_zone_that_there_is_not_is_left_out(settings: SessionSettings):
    settings.start({"TimeZone": "Europe/Atlantis"})

    assert settings.reported()["TimeZone"] == "UTC"


def test_a_name_in_the_search_path_cannot_break_out():
    assert search_path('"; DROP TABLE x; --, public', "ann") == '"; DROP TABLE x; --", "public"'
    assert search_path('a"b', "ann") == '"a""b"'
