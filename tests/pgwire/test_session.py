"""Statements of a session: what clients of PostgreSQL rely on, and what they are told when something is wrong."""

import contextlib
import datetime as dt
import ipaddress
import threading
import time
from decimal import Decimal

import psycopg
import pytest
from psycopg import sql

from tests.pgwire.conftest import EVENTS, Door
from tests.running import ADMIN

pytestmark = pytest.mark.service
SLOW = "SELECT count(*) FROM app a, app b, app c WHERE a.took + b.took * c.took > 3"
MANY = "SELECT a.message FROM app a CROSS JOIN generate_series(1, 100) g"


def state_of(connection: psycopg.Connection, statement: str) -> str | None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement)
    return caught.value.sqlstate


def test_answers_are_those_of_http(door: Door, connection: psycopg.Connection):
    asked = "SELECT level, count(*) AS n, max(took) AS most FROM app WHERE status > 201 GROUP BY 1 ORDER BY 1"

    cursor = connection.execute(asked)

    assert [column.name for column in cursor.description] == ["level", "n", "most"]
    assert [dict(zip(("level", "n", "most"), row, strict=True)) for row in cursor] == door.service.query(asked)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_values_of_every_type(connection: psycopg.Connection, binary: bool):
    row = (
        connection.cursor(binary=binary)
        .execute(
            "SELECT true, 1::int2, 2::int4, 3::int8, 1.50::numeric, 0.1::float8, 'ä'::text, date '2026-01-02',"
            " time '01:02:03.5', timestamp '2026-01-02 03:04:05.6', timestamptz '2026-01-02 03:04:05+01',"
            " interval '1 day 02:00:00', '{\"a\": [1]}'::jsonb, '\\x00ff'::bytea, ARRAY[1, NULL], NULL::int"
        )
        .fetchone()
    )

    assert row == (
        *(True, 1, 2, 3, Decimal("1.50"), 0.1, "ä", dt.date(2026, 1, 2), dt.time(1, 2, 3, 500_000)),
        dt.datetime(2026, 1, 2, 3, 4, 5, 600_000),
        dt.datetime(2026, 1, 2, 2, 4, 5, tzinfo=dt.UTC),
        dt.timedelta(days=1, hours=2),
        *({"a": [1]}, b"\x00\xff", [1, None], None),
    )


@pytest.mark.parametrize(
    ("asked", "values", "expected"),
    [
        ("SELECT count(*) FROM app WHERE took > %s AND level = %s", (100, "error"), 300),
        ("SELECT count(*) FROM app WHERE level IN (%s,%s)", ("error", "info"), 1000),
        ("SELECT count(*) FROM app WHERE level = ANY(%s)", (["error", "none"],), 500),
        (
            "SELECT count(*) FROM app WHERE at::timestamptz < %s",
            (dt.datetime(2026, 11, 20, 1, 30, tzinfo=dt.UTC),),
            510,
        ),
        ("SELECT took FROM app ORDER BY took LIMIT %s OFFSET %s", (1, 4), 1.0),
        ("SELECT count(*) FROM app WHERE at::timestamptz > %s::timestamptz", ("2026-11-20 01:30",), 473),
        ("SELECT %s::int + 1", ("41",), 42),
        ("SELECT count(*) FROM app WHERE ok = %s", (True,), 334),
        ("SELECT coalesce(%s, 'x')", (None,), "x"),
        ("SELECT count(*) FROM pg_class WHERE relname = %s", ("app",), 1),
    ],
)
@pytest.mark.parametrize("form", ["%s", "%t", "%b"], ids=["auto", "text", "binary"])
def test_parameters_have_the_type_that_their_place_wants(
    connection: psycopg.Connection, asked: str, values: tuple, expected: object, form: str
):
    assert connection.execute(asked.replace("%s", form), values).fetchone()[0] == expected


def test_addresses_are_addresses(connection: psycopg.Connection):
    """Text and binary; as a parameter as well."""
    given = ipaddress.ip_interface("10.1.2.3/8")
    asked = "SELECT %s::inet AS a, '10.0.0.0/8'::cidr AS b, ARRAY['::1'::inet] AS c, host(%s::inet) AS d"
    expected = (given, ipaddress.ip_network("10.0.0.0/8"), [ipaddress.ip_address("::1")], "10.1.2.3")
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        assert cursor.execute(asked, (given, given)).fetchone() == expected
        assert [column.type_code for column in cursor.description or ()] == [869, 650, 1041, 25]


def test_a_statement_is_described_before_its_values_are_known(connection: psycopg.Connection):
    result = connection.pgconn
    result.prepare(b"s", b"SELECT level, $1 + 1 AS n FROM app WHERE took > $2 AND p_timestamp >= $3 LIMIT $4")

    described = result.describe_prepared(b"s")

    types = connection.adapters.types
    assert [types.get(described.param_type(at)).name for at in range(described.nparams)] == (
        ["int4", "float8", "timestamptz", "int8"]
    )
    assert [described.fname(at) for at in range(described.nfields)] == [b"level", b"n"]
    assert described.ftype(1) == types["int4"].oid


def test_prepared_statements_run_again_with_other_values(connection: psycopg.Connection):
    counts = [
        connection.execute("SELECT count(*) FROM app WHERE took < %s", (most,), prepare=True).fetchone()[0]
        for most in (1, 10, 100)
    ]

    assert counts == [4, 40, 400]


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("SELECT nope FROM app", "42703"),
        ("SELECT * FROM no_such_dataset", "42P01"),
        ("SELEC 1", "42601"),
        ("SELECT 1/0", "22012"),
        ("INSERT INTO app VALUES (1)", "25006"),
        ("UPDATE app SET level = 'x'", "25006"),
        ("CREATE TABLE t (a int)", "25006"),
        ("DROP TABLE app", "25006"),
        ("TRUNCATE app", "25006"),
        ("COPY app FROM STDIN", "25006"),
        ("COPY app TO '/tmp/x'", "42501"),
        ("COPY app TO PROGRAM 'sh'", "42501"),
        ("DO $$ BEGIN END $$", "25006"),
        ("CALL f()", "25006"),
        ("VACUUM", "25006"),
        ("LOCK TABLE app", "25006"),
        ("LISTEN x", "0A000"),
        ("SELECT pg_sleep(1)", "0A000"),
        ("FETCH 1 FROM nothing", "34000"),
        ("EXECUTE nothing", "26000"),
        ("DECLARE c CURSOR FOR SELECT 1", "25P01"),
        ("SAVEPOINT a", "25P01"),
        ("SHOW no_such", "42704"),
        ("EXPLAIN ANALYZE SELECT 1", "0A000"),
        ("SELECT * FROM other.app", "0A000"),
    ],
)
def test_errors_carry_postgresqls_states(connection: psycopg.Connection, statement: str, sqlstate: str):
    assert state_of(connection, statement) == sqlstate
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_an_error_tells_its_place_and_a_hint(connection: psycopg.Connection):
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        connection.execute("SELECT 1; SELECT levle FROM app")

    assert caught.value.diag.statement_position == "18"
    assert "level" in caught.value.diag.message_hint


def test_writing_is_refused_in_so_many_words(connection: psycopg.Connection):
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="Weir is read-only over this protocol"):
        connection.execute("DELETE FROM app")


def test_names_with_schema_and_database(connection: psycopg.Connection):
    asked = 'SELECT "public"."app"."level", public.app.took FROM "weir"."public"."app" ORDER BY 2 LIMIT 1'

    assert connection.execute(asked).fetchone() == ("info", 0.0)


def test_names_with_the_sessions_own_database(door: Door):
    """With several tenants a database is a tenant; with one it may have the user's name."""
    with door.connect(dbname=ADMIN[0]) as connection:
        asked = f'SELECT count(*) FROM "{ADMIN[0]}".public.app WHERE {ADMIN[0]} . public . app.took >= 0'
        assert connection.execute(asked).fetchone() == (1000,)
        listed = f"SELECT count(*) FROM {ADMIN[0]}.information_schema.tables WHERE table_name = 'app'"
        assert connection.execute(listed).fetchone() == (1,)
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("SELECT count(*) FROM other.public.app")
        with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
            connection.execute(f"SELECT nope FROM {ADMIN[0]}.public.app")
    assert caught.value.diag.statement_position == "8"


def test_a_with_does_not_hide_a_dataset_that_is_named_with_its_schema(connection: psycopg.Connection):
    asked = "WITH app AS (SELECT 1 AS one) SELECT (SELECT count(*) FROM app), (SELECT count(*) FROM public.app)"

    assert connection.execute(asked).fetchone() == (1, 1000)


# --- transactions --------------------------------------------------------------------------------------------------


def test_a_failed_transaction_takes_nothing_but_its_end(connection: psycopg.Connection):
    connection.execute("BEGIN")
    assert state_of(connection, "SELECT nope FROM app") == "42703"
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    assert state_of(connection, "SELECT 1") == "25P02"

    assert connection.execute("COMMIT").statusmessage == "ROLLBACK"

    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_savepoint_saves_a_transaction(connection: psycopg.Connection):
    with connection.transaction():
        with pytest.raises(psycopg.errors.UndefinedColumn), connection.transaction():
            connection.execute("SELECT nope FROM app")

        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_now_stands_still_in_a_transaction(connection: psycopg.Connection):
    with connection.transaction():
        first = connection.execute("SELECT now()").fetchone()
        time.sleep(0.01)
        assert connection.execute("SELECT now()").fetchone() == first
    assert connection.execute("SELECT now()").fetchone() != first


# --- cursors and portals -------------------------------------------------------------------------------------------


def test_a_cursor_gives_its_rows_bit_by_bit(connection: psycopg.Connection):
    with connection.transaction():
        connection.execute("DECLARE c NO SCROLL CURSOR FOR SELECT took FROM app ORDER BY took")

        assert connection.execute("FETCH 2 FROM c").fetchall() == [(0.0,), (0.25,)]
        assert connection.execute("MOVE 3 IN c").statusmessage == "MOVE 3"
        assert connection.execute("FETCH c").fetchall() == [(1.25,)]
        assert len(connection.execute("FETCH ALL FROM c").fetchall()) == 994
        assert connection.execute("FETCH c").fetchall() == []
        assert state_of(connection, "FETCH BACKWARD 1 FROM c") == "55000"
    assert state_of(connection, "FETCH c") == "34000"


def test_other_statements_run_beside_an_open_cursor(door: Door, connection: psycopg.Connection):
    """Even where one query runs at a time: the rows of the first are read to their end into a file."""
    with connection.transaction():
        cursor = connection.cursor(name="many")
        cursor.execute(MANY)
        first = cursor.fetchmany(10)

        assert connection.execute("SELECT count(*) FROM app").fetchone() == (1000,)
        second = connection.cursor(name="more")
        second.execute(MANY)
        assert len(second.fetchmany(5)) == 5
        rest = cursor.fetchall()

    assert len(first) + len(rest) == 100_000
    assert door.service.call("GET", "/api/v1/queries").json() == []


def test_a_cursor_with_hold_outlives_its_transaction(connection: psycopg.Connection):
    with connection.transaction():
        connection.execute("DECLARE h CURSOR WITH HOLD FOR SELECT took FROM app ORDER BY took")

    assert connection.execute("FETCH 1 FROM h").fetchall() == [(0.0,)]
    connection.execute("CLOSE h")


def test_rows_arrive_while_a_query_runs(connection: psycopg.Connection):
    assert sum(1 for _ in connection.cursor().stream(MANY)) == 100_000


# --- COPY ----------------------------------------------------------------------------------------------------------


def copied(connection: psycopg.Connection, statement: str) -> bytes:
    with connection.cursor().copy(statement) as copy:
        return b"".join(map(bytes, copy))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", b"a\\tb\\\\c\t\\N\t{x,NULL}\n"),
        ("(FORMAT csv, HEADER)", b'one,two,three\n"a\tb\\c",,"{x,NULL}"\n'.replace(b'"a\tb\\c"', b"a\tb\\c")),
        ("(FORMAT csv, FORCE_QUOTE (one), DELIMITER ';', NULL 'nil')", b'"a\tb\\c";nil;{x,NULL}\n'),
        ("(DELIMITER '|', NULL '')", b"a\\tb\\\\c||{x,NULL}\n"),
        ("WITH CSV", b'a\tb\\c,,"{x,NULL}"\n'),
    ],
)
def test_copy_writes_as_postgresql_does(connection: psycopg.Connection, options: str, expected: bytes):
    query = "SELECT E'a\\tb\\\\c' AS one, NULL::int AS two, ARRAY['x', NULL] AS three"

    assert copied(connection, f"COPY ({query}) TO STDOUT {options}") == expected


def test_copy_of_a_dataset_and_its_columns(connection: psycopg.Connection):
    lines = copied(connection, "COPY app (level, status) TO STDOUT (FORMAT csv)").splitlines()

    assert len(lines) == len(EVENTS)
    assert set(lines) >= {b"info,200", b"error,201"}


def test_copy_in_binary_is_read_by_a_client(connection: psycopg.Connection):
    with connection.cursor().copy(
        "COPY (SELECT took, level FROM app ORDER BY took LIMIT 2) TO STDOUT (FORMAT binary)"
    ) as copy:
        copy.set_types(["float8", "text"])
        assert list(copy.rows()) == [(0.0, "info"), (0.25, "error")]


# --- the end of queries --------------------------------------------------------------------------------------------


def test_cancel_ends_the_query_and_nothing_else(connection: psycopg.Connection):
    threading.Timer(0.5, connection.cancel_safe).start()

    assert state_of(connection, SLOW) == "57014"
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_statement_timeout_ends_the_query(connection: psycopg.Connection):
    connection.execute("SET statement_timeout = '300ms'")

    assert state_of(connection, SLOW) == "57014"


def test_a_vanished_client_ends_its_query(door: Door):
    doomed = door.connect()
    doomed.pgconn.send_query(SLOW.encode())
    deadline = time.monotonic() + 30
    while not running(door):
        assert time.monotonic() < deadline

    doomed.close()

    while running(door):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(door: Door) -> list[str]:
    return [each["query"] for each in door.service.call("GET", "/api/v1/queries").json() if each["query"] == SLOW]


def test_a_running_query_is_listed_and_ended_over_http(door: Door, connection: psycopg.Connection):
    """GET and DELETE /api/v1/queries are of all queries, whichever way they came."""
    ended: list[int] = []

    def end() -> None:
        while not (found := door.service.call("GET", "/api/v1/queries").json()):
            time.sleep(0.05)
        ended.append(door.service.call("DELETE", f"/api/v1/queries/{found[0]['id']}").status_code)

    thread = threading.Thread(target=end)
    thread.start()
    assert state_of(connection, SLOW) == "57014"
    thread.join()
    assert ended == [200]


# --- other statements ----------------------------------------------------------------------------------------------


def test_prepare_and_execute(connection: psycopg.Connection):
    connection.execute("PREPARE q (int8, text) AS SELECT count(*) FROM app WHERE status = $1 AND level = $2")

    assert connection.execute("EXECUTE q(200, 'info')").fetchone() == (100,)
    connection.execute("DEALLOCATE q")
    assert state_of(connection, "EXECUTE q(200, 'info')") == "26000"


def test_explain(connection: psycopg.Connection):
    lines = [line for (line,) in connection.execute("EXPLAIN SELECT count(*) FROM app")]

    assert any(line.startswith("Dataset app:") for line in lines)


def test_set_show_reset_and_discard(connection: psycopg.Connection):
    connection.execute("SET application_name = 'mine'")
    assert connection.info.parameter_status("application_name") == "mine"
    assert connection.execute("SHOW application_name").fetchone() == ("mine",)
    assert len(connection.execute("SHOW ALL").fetchall()) > 30

    connection.execute("DISCARD ALL")

    assert connection.execute("SHOW application_name").fetchone() == ("",)


@pytest.mark.parametrize(
    ("statements", "shown"),
    [
        (("BEGIN", "SET application_name = 'b'", "ROLLBACK"), "a"),
        (("BEGIN", "SET application_name = 'b'", "COMMIT"), "b"),
        (("BEGIN", "SET LOCAL application_name = 'b'", "COMMIT"), "a"),
        (("BEGIN", "SET LOCAL application_name = 'b'", "SET application_name = 'c'", "COMMIT"), "c"),
        (("BEGIN", "SET LOCAL application_name = 'b'", "RESET application_name", "COMMIT"), ""),
        (("BEGIN", "SET application_name = 'b'", "SELECT nope FROM app", "COMMIT"), "a"),
        (("BEGIN", "SAVEPOINT s", "SET application_name = 'b'", "ROLLBACK TO s", "COMMIT"), "a"),
        (("BEGIN", "SET application_name = 'b'", "SAVEPOINT s", "SELECT nope", "ROLLBACK TO s", "COMMIT"), "b"),
        (("BEGIN", "SAVEPOINT s", "SET application_name = 'b'", "RELEASE s", "COMMIT"), "b"),
        (("BEGIN", "SAVEPOINT s", "SET application_name = 'b'", "RELEASE s", "ROLLBACK"), "a"),
        (("SET application_name = 'b'; SELECT nope FROM app",), "a"),
        (("SET application_name = 'b'; BEGIN; SELECT nope FROM app", "ROLLBACK"), "a"),
        (("SET application_name = 'b'; COMMIT; SELECT nope FROM app",), "b"),
        (("SET application_name = 'b'; SELECT 1", "SELECT nope FROM app"), "b"),
        (("BEGIN", "COMMIT AND CHAIN", "SET application_name = 'b'", "ROLLBACK"), "a"),
    ],
)
def test_what_is_set_lasts_as_its_transaction(connection: psycopg.Connection, statements: tuple[str, ...], shown: str):
    """PostgreSQL's manual: SET; "Message Flow", section "Multiple Statements in a Simple Query"."""
    connection.execute("SET application_name = 'a'")

    for statement in statements:
        with contextlib.suppress(psycopg.errors.UndefinedColumn):
            connection.execute(statement)

    assert connection.execute("SHOW application_name").fetchone() == (shown,)
    assert connection.info.parameter_status("application_name") == shown


def test_set_config_sets(connection: psycopg.Connection):
    connection.execute("SELECT set_config('statement_timeout', '7s', false)")

    assert connection.execute("SHOW statement_timeout").fetchone() == ("7s",)


def test_what_clients_are_told_at_the_start(connection: psycopg.Connection):
    told = {
        name: connection.info.parameter_status(name)
        for name in ("client_encoding", "TimeZone", "integer_datetimes", "standard_conforming_strings", "DateStyle")
    }

    assert told == {
        "client_encoding": "UTF8",
        "TimeZone": "UTC",
        "integer_datetimes": "on",
        "standard_conforming_strings": "on",
        "DateStyle": "ISO, MDY",
    }
    assert connection.info.server_version == int(connection.execute("SHOW server_version_num").fetchone()[0])


def test_several_statements_in_one_message(connection: psycopg.Connection):
    cursor = connection.execute("SELECT 1; SELECT count(*) FROM app; SELECT 3")

    answers = [cursor.fetchone()]
    while cursor.nextset():
        answers.append(cursor.fetchone())
    assert answers == [(1,), (1000,), (3,)]


def test_a_pipeline_with_an_error_in_its_middle(connection: psycopg.Connection):
    first = after = connection.cursor()

    def ask_three_times() -> None:
        nonlocal first, after
        with connection.pipeline():
            first = connection.execute("SELECT count(*) FROM app")
            connection.execute("SELECT nope FROM app")
            after = connection.execute("SELECT 2")

    with pytest.raises(psycopg.errors.UndefinedColumn):
        ask_three_times()
    assert first.fetchone() == (1000,)
    with pytest.raises(psycopg.Error):
        after.fetchone()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_names_of_columns_may_be_there_twice(connection: psycopg.Connection):
    cursor = connection.execute(sql.SQL("SELECT 1 AS a, 2 AS a, 3"))

    assert [column.name for column in cursor.description] == ["a", "a", "?column?"]


def test_random_numbers_of_a_session_follow_its_seed(connection: psycopg.Connection):
    """Values: PostgreSQL 18, the same statements in one session."""
    connection.execute("SELECT setseed(0.5)")
    first = connection.execute("SELECT random() FROM generate_series(1, 2)").fetchall()
    connection.execute("SELECT count(*) FROM app")
    second = connection.execute("SELECT random(), random(1, 1000000), random_normal()").fetchall()

    assert first == [(0.9851677175347999,), (0.825301858027981,)]
    assert second == [(0.12974610012450416, 171509, 0.9735451174009585)]
    connection.execute("BEGIN")
    connection.execute("SELECT setseed(0.5)")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT random()").fetchall() == first[:1]


def test_random_numbers_of_many_rows_follow_the_seed(connection: psycopg.Connection):
    """The state comes back behind rows that are sent while the query runs."""
    asked = "SELECT random() FROM generate_series(1, 200000)"
    for _ in range(2):
        connection.execute("SELECT setseed(0)")
        drawn = [*connection.execute(asked).fetchall(), *connection.execute("SELECT random()").fetchall()]

    assert drawn[-1] == (0.6509384552011792,)


def test_a_float_that_becomes_a_numeric_has_the_digits_it_needs(connection: psycopg.Connection):
    """Text: PostgreSQL's for the same statement."""
    asked = "SELECT x::numeric, round(x::numeric, 2) FROM (VALUES (1.5::float8), (100), ('NaN')) AS t (x)"

    rows = connection.execute(asked).fetchall()

    assert [[str(value) for value in row] for row in rows] == [["1.5", "1.50"], ["100", "100.00"], ["NaN", "NaN"]]
