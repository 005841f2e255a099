"""Who gets in over the PostgreSQL protocol, and for how long (api.md section 6)."""

import time
from collections.abc import Callable

import psycopg
import pytest

from tests.pgwire.conftest import Door
from tests.running import ADMIN, wait_until

pytestmark = pytest.mark.service
READER = {"privilege": "reader", "resource": {"stream": "app"}}


def refusal(door: Door, user: str, password: str, **members: object) -> str:
    with pytest.raises(psycopg.OperationalError) as caught:
        door.connect(user, password, **members)
    return str(caught.value)


def test_a_user_logs_in_with_its_password(door: Door):
    with door.connect(*ADMIN) as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchone() == ("admin", "weir")


def test_a_key_logs_in_by_its_name_and_by_its_id(door: Door):
    secret = door.service.make_key("pg-key", READER)
    (key_id,) = (
        each["keyId"]
        for each in door.service.call("GET", "/api/console/v1/apikeys").json()
        if each["keyName"] == "pg-key"
    )

    for user in ("pg-key", key_id):
        with door.connect(user, secret) as connection:
            assert connection.execute("SELECT count(*) FROM app").fetchone() == (1000,)


def test_a_user_that_was_made_over_http_logs_in_at_once(door: Door):
    """Its verifier is made with its password, and anew with a new one."""
    first = door.service.call("POST", "/api/v1/user/pg-ann", json=[]).json()
    with door.connect("pg-ann", first):
        pass
    second = door.service.call("POST", "/api/v1/user/pg-ann/generate-new-password").json()

    with door.connect("pg-ann", second):
        pass
    assert "password authentication failed" in refusal(door, "pg-ann", first)


def test_all_refusals_are_the_same(door: Door):
    """28P01, whatever is wrong: wrong password, unknown name, deleted key, a user without a password."""
    secret = door.service.make_key("pg-gone", READER)
    delete_key(door, "pg-gone")

    refusals = [
        refusal(door, ADMIN[0], "wrong"),
        refusal(door, "pg-nobody", "wrong"),
        refusal(door, "pg-gone", secret),
        refusal(door, "x" * 500, "wrong"),
    ]

    assert len(set(refusals)) == 1
    assert "FATAL:  password authentication failed" in refusals[0]


def test_guessing_is_slowed_down_as_over_http(start_door: Callable[..., Door]):
    """auth/backoff.py: ten attempts are free; a right password does not help who is slowed down."""
    door = start_door()
    for _ in range(12):
        refusal(door, ADMIN[0], "wrong")

    assert "password authentication failed" in refusal(door, *ADMIN)


def test_many_right_logins_at_once_do_not_wait_for_each_other(door: Door):
    connections = [door.connect() for _ in range(15)]

    for each in connections:
        each.close()


@pytest.mark.parametrize("database", ["weir", "admin"])
def test_names_of_the_database(door: Door, database: str):
    with door.connect(dbname=database) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == (database,)


def test_another_database_does_not_exist(door: Door):
    assert 'database "other" does not exist' in refusal(door, *ADMIN, dbname="other")


def delete_key(door: Door, name: str) -> None:
    keys = door.service.call("GET", "/api/console/v1/apikeys").json()
    key_id = next(each["keyId"] for each in keys if each["keyName"] == name)
    door.service.call("DELETE", f"/api/console/v1/apikeys/{key_id}").raise_for_status()


def test_a_deleted_key_ends_open_connections_at_the_next_statement(door: Door):
    """28000, and the end of the connection."""
    secret = door.service.make_key("pg-revoked", READER)
    connection = door.connect("pg-revoked", secret)
    connection.execute("SELECT count(*) FROM app")

    delete_key(door, "pg-revoked")

    with pytest.raises(psycopg.OperationalError) as caught:
        connection.execute("SELECT 1")
    assert caught.value.sqlstate == "28000"
    assert connection.closed


def test_a_new_password_ends_open_connections(door: Door):
    password = door.service.call("POST", "/api/v1/user/pg-bob", json=[]).json()
    connection = door.connect("pg-bob", password)

    door.service.call("POST", "/api/v1/user/pg-bob/generate-new-password").raise_for_status()

    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")


def test_rights_that_are_taken_are_gone_at_the_next_statement(door: Door):
    secret = door.service.make_key("pg-less", READER)
    with door.connect("pg-less", secret) as connection:
        connection.execute("SELECT count(*) FROM app")

        door.service.call("PUT", "/api/v1/role/pg-less", json=[]).raise_for_status()

        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT count(*) FROM app")


def test_tls_with_channel_binding(door: Door):
    """SCRAM-SHA-256-PLUS over tls-server-end-point, which libpq insists on here."""
    members = {"sslmode": "verify-full", "sslrootcert": door.certificate, "channel_binding": "require"}
    with door.connect(host="localhost", hostaddr="127.0.0.1", **members) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("SELECT count(*) FROM app").fetchone() == (1000,)


def test_an_idle_connection_ends(start_door: Callable[..., Door]):
    door = start_door(WEIR_PG_IDLE_SECONDS="1")
    connection = door.connect()
    time.sleep(1.5)

    with pytest.raises(psycopg.OperationalError) as caught:
        connection.execute("SELECT 1")
    assert caught.value.sqlstate in ("57P05", None)


@pytest.mark.parametrize("workers", [1, 2])
def test_connections_are_limited_for_each_login_and_in_all(start_door: Callable[..., Door], workers: int):
    """Over all workers of the host, whichever takes a connection."""
    door = start_door(workers, WEIR_PG_CONNECTIONS="3", WEIR_PG_IDENTITY_CONNECTIONS="2")
    secret = door.service.make_key("pg-many", {"privilege": "reader"})
    held = [door.connect() for _ in range(2)]

    assert "too many connections of this login" in refusal(door, *ADMIN)
    held.append(door.connect("pg-many", secret))
    assert "too many clients" in refusal(door, "pg-many", secret)

    held.pop().close()
    wait_until(lambda: is_open(door, secret))
    assert "weir_pg_connections_total" in door.service.call("GET", "/api/v1/metrics").text


def is_open(door: Door, secret: str) -> bool:
    try:
        door.connect("pg-many", secret).close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_refused_login_is_in_the_audit(door: Door):
    refusal(door, ADMIN[0], "wrong")

    asked = "SELECT count(*) FROM p_audit WHERE action = 'password.refuse' AND path = 'postgresql'"
    with door.connect() as connection:
        assert connection.execute(asked).fetchone()[0] > 0


def test_no_secret_and_no_statement_is_logged(door: Door):
    with door.connect() as connection, pytest.raises(psycopg.Error):
        connection.execute("SELECT nope FROM app WHERE message = 'pg-literal-7'")

    log = door.service.log.read_text()
    assert ADMIN[1] not in log
    assert "pg-literal-7" not in log
