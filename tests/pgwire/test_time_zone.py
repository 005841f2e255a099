"""The time zone of a session: SET takes what PostgreSQL's SET takes and shows it likewise; texts are on its clock.

What PostgreSQL 18 shows was read from it.
"""

import datetime as dt

import psycopg
import pytest
from psycopg import pq

from pgwire.time_zone import UnknownTimeZone, engine_name, read
from query.pg.time_zones import zone_named
from tests.pgwire.conftest import Door

SUMMER = "TIMESTAMPTZ '2026-07-01 12:00:00.5Z'"


@pytest.mark.parametrize(
    ("given", "shown", "seconds_east"),
    [
        ("utc", "UTC", 0),
        ("gmt0", "GMT0", 0),
        ("zulu", "Zulu", 0),
        ("Etc/GMT+5", "Etc/GMT+5", -18_000),
        ("asia/kolkata", "Asia/Kolkata", 19_800),
        # Numbers count east of UTC ...
        ("5", "<+05>-05", 18_000),
        ("+5.5", "<+05:30>-05:30", 19_800),
        ("-7.5", "<-07:30>+07:30", -27_000),
        ("1e1", "<+10>-10", 36_000),
        ("0", "<+00>-00", 0),
        ("INTERVAL '+02:00'", "<+02>-02", 7_200),
        ("INTERVAL '-08:30'", "<-08:30>+08:30", -30_600),
        # ... and what POSIX writes, west.
        ("+05:30", "+05:30", -19_800),
        ("-05:30", "-05:30", 19_800),
        ("foo3", "FOO3", -10_800),
        ("<+03>-03", "<+03>-03", 10_800),
        ("UTC+3", "UTC+3", -10_800),
    ],
)
def test_what_set_takes_is_shown_as_postgresql_shows_it(given: str, shown: str, seconds_east: int) -> None:
    assert read(given) == shown
    # What is shown can be set again, as a client does that puts back what it found.
    assert read(shown) == shown
    rules = zone_named(engine_name(shown)).rules if engine_name(shown) else dt.UTC
    assert dt.datetime(2026, 7, 1, tzinfo=rules).utcoffset() == dt.timedelta(seconds=seconds_east)


@pytest.mark.parametrize(
    "given",
    [
        *("Z", "", "PST", "nope", " Europe/Berlin", "local", "default", "170", "168", "nan", "1_0", "posixrules"),
        *("INTERVAL '1 day'", "INTERVAL '1 month'", "INTERVAL 'x'", "<abc>-3:30:20", "right/UTC", "X" * 1000),
    ],
)
def test_what_postgresql_does_not_take_is_refused(given: str) -> None:
    with pytest.raises(UnknownTimeZone):
        read(given)


def test_a_number_may_mean_seconds_which_a_name_may_not() -> None:
    assert engine_name(read("5.55555")) == "<+05:33:19>-05:33:19"


def test_names_that_are_abbreviations_too_are_places() -> None:
    """`AT TIME ZONE 'CET'` is an hour all year; `SET TimeZone = 'CET'` has summer time."""
    rules = zone_named(engine_name(read("cet"))).rules

    assert dt.datetime(2026, 7, 1, tzinfo=rules).utcoffset() == dt.timedelta(hours=2)


@pytest.mark.service
@pytest.mark.parametrize(
    ("statement", "shown", "text"),
    [
        ("SET TimeZone = 'europe/berlin'", "Europe/Berlin", "2026-07-01 14:00:00.5+02"),
        ("SET TIME ZONE 'Asia/Kolkata'", "Asia/Kolkata", "2026-07-01 17:30:00.5+05:30"),
        ("SET TIME ZONE -3.5", "<-03:30>+03:30", "2026-07-01 08:30:00.5-03:30"),
        ("SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE", "<-08>+08", "2026-07-01 04:00:00.5-08"),
        ("SET TimeZone = '+05:30'", "+05:30", "2026-07-01 06:30:00.5-05:30"),
        ("SET TIME ZONE LOCAL", "UTC", "2026-07-01 12:00:00.5+00"),
        ("SELECT set_config('TimeZone', 'Europe/Berlin', false)", "Europe/Berlin", "2026-07-01 14:00:00.5+02"),
    ],
)
def test_instants_are_shown_on_the_sessions_clock(
    connection: psycopg.Connection, statement: str, shown: str, text: str
) -> None:
    connection.execute(statement)

    assert connection.info.parameter_status("TimeZone") == shown
    assert connection.execute("SHOW timezone").fetchone() == (shown,)
    assert texts(connection, f"SELECT {SUMMER}, {SUMMER}::text, ARRAY[{SUMMER}]") == [
        (text, text, f'{{"{text}"}}'),
    ]
    assert copied(connection, f"COPY (SELECT {SUMMER}) TO STDOUT (FORMAT csv)") == f"{text}\n".encode()
    # The catalogue is asked in the same zone.
    assert texts(connection, f"SELECT {SUMMER}::text FROM pg_catalog.pg_class LIMIT 1") == [(text,)]


@pytest.mark.service
def test_statements_mean_what_they_mean_in_the_zone(connection: psycopg.Connection) -> None:
    connection.execute("SET TimeZone = 'America/New_York'")

    row = texts(
        connection,
        "SELECT '2026-07-01 00:00'::timestamptz, date_trunc('day', TIMESTAMPTZ '2026-07-01 02:00Z'),"
        " extract(hour FROM TIMESTAMPTZ '2026-07-01 02:00Z'), TIMESTAMPTZ '2026-07-01 02:00Z'::date",
    )

    assert row == [("2026-07-01 00:00:00-04", "2026-06-30 00:00:00-04", "22", "2026-06-30")]


@pytest.mark.service
def test_parameters_without_a_zone_are_read_on_the_clock(connection: psycopg.Connection) -> None:
    connection.execute("SET TimeZone = 'Asia/Kolkata'")
    asked = "SELECT $1::timestamptz, $2::timestamptz"
    result = connection.pgconn.exec_params(asked.encode(), [b"2026-07-01 05:30", b"2026-07-01 00:00Z"])

    assert (result.get_value(0, 0), result.get_value(0, 1)) == (b"2026-07-01 05:30:00+05:30",) * 2


@pytest.mark.service
@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_many_rows_and_both_formats_are_the_same_instants(connection: psycopg.Connection, binary: bool) -> None:
    connection.execute("SET TimeZone = 'Europe/Berlin'")
    asked = (
        "SELECT t FROM generate_series(TIMESTAMPTZ '2026-03-01 00:30Z', TIMESTAMPTZ '2026-11-30Z', INTERVAL '1 hour') t"
    )

    rows = connection.cursor(binary=binary).execute(asked).fetchall()

    first = dt.datetime(2026, 3, 1, 0, 30, tzinfo=dt.UTC).timestamp()
    assert [row[0].timestamp() for row in rows] == [first + 3600 * at for at in range(len(rows))]
    assert {row[0].utcoffset() for row in rows} == {dt.timedelta(hours=1), dt.timedelta(hours=2)}


@pytest.mark.service
def test_the_zone_is_undone_with_its_transaction(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("SET LOCAL TimeZone = 'Europe/Berlin'")
    inside = texts(connection, f"SELECT {SUMMER}")
    connection.execute("COMMIT")

    assert (inside, texts(connection, f"SELECT {SUMMER}")) == (
        [("2026-07-01 14:00:00.5+02",)],
        [("2026-07-01 12:00:00.5+00",)],
    )


@pytest.mark.service
def test_rows_of_one_cursor_are_on_one_clock(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("DECLARE c CURSOR FOR SELECT TIMESTAMPTZ '2026-07-01Z' FROM generate_series(1, 5)")
    connection.execute("SET TimeZone = 'Europe/Berlin'")
    first = texts(connection, "FETCH 1 FROM c")

    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("SET TimeZone = 'Asia/Kolkata'")

    connection.execute("ROLLBACK")
    assert first == [("2026-07-01 02:00:00+02",)]
    assert connection.execute("SHOW TimeZone").fetchone() == ("UTC",)


@pytest.mark.service
def test_a_driver_begins_in_its_machines_zone(door: Door) -> None:
    """pgjdbc sends the zone of its JVM with the first message."""
    with door.connect(options="-c TimeZone=Asia/Kolkata") as connection:
        assert texts(connection, f"SELECT {SUMMER}") == [("2026-07-01 17:30:00.5+05:30",)]
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("RESET TimeZone")
        assert connection.execute("SHOW TimeZone").fetchone() == ("Asia/Kolkata",)


@pytest.mark.service
def test_an_unknown_zone_is_an_error_of_postgresqls(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match='"TimeZone": "Mars/Base"'):
        connection.execute("SET TimeZone = 'Mars/Base'")


def texts(connection: psycopg.Connection, asked: str) -> list[tuple[str | None, ...]]:
    """The rows as they were sent."""
    result = connection.pgconn.exec_(asked.encode())
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message
    cells = ((result.get_value(row, column) for column in range(result.nfields)) for row in range(result.ntuples))
    return [tuple(None if cell is None else cell.decode() for cell in row) for row in cells]


def copied(connection: psycopg.Connection, asked: str) -> bytes:
    with connection.cursor().copy(asked) as copy:
        return b"".join(map(bytes, copy))
