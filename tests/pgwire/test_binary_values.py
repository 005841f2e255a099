"""Parameters in binary format say what psycopg, asyncpg and pgx mean by them: psycopg's dumpers against our reader."""

import datetime as dt
import ipaddress
import uuid
from decimal import Decimal

import pytest
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.types.json import Jsonb
from psycopg.types.numeric import Float8, Int2, Int4, Int8

from pgwire.binary_values import engine_type, to_text
from pgwire.errors import PgError

NOON = dt.datetime(2026, 1, 2, 12, 30, 15, 250000, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Int2(-7), "-7"),
        (Int4(-70000), "-70000"),
        (Int8(2**40), str(2**40)),
        (Float8(0.1), "0.1"),
        (Decimal("-12345.6780"), "-12345.6780"),
        (Decimal("0.00001"), "0.00001"),
        (Decimal("100000000"), "100000000"),
        (Decimal("NaN"), "NaN"),
        (True, "true"),
        ("it's", "it's"),
        (b"\x00\xff", "\\x00ff"),
        (NOON, "2026-01-02 12:30:15.250000+00"),
        (NOON.replace(tzinfo=None), "2026-01-02 12:30:15.250000"),
        (dt.date(1999, 12, 31), "1999-12-31"),
        (dt.time(1, 2, 3, 4), "01:02:03.000004"),
        (dt.timedelta(days=2, seconds=1), "0 months 2 days 1000000 microseconds"),
        (ipaddress.ip_interface("10.0.0.1/8"), "10.0.0.1/8"),
        (ipaddress.ip_network("2001:db8::/32"), "2001:db8::/32"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Jsonb({"a": 1}), '{"a": 1}'),
        ([Int8(1), None, Int8(3)], '{"1",NULL,"3"}'),
        (['a"b', "c,d"], '{"a\\"b","c,d"}'),
        ([["a", "b"], ["c", "d"]], '{{"a","b"},{"c","d"}}'),
    ],
    ids=repr,
)
def test_a_binary_value_is_read_as_its_text(value: object, text: str):
    dumper = Transformer().get_dumper(value, PyFormat.BINARY)
    dumped = dumper.dump(value)

    assert dumper.format is pq.Format.BINARY
    assert dumped is not None
    assert to_text(bytes(dumped), dumper.oid) == text


@pytest.mark.parametrize(
    ("value", "oid"), [(b"", 20), (b"\x01", 23), (b"\xff", 25), (b"\x02{}", 3802), (b"\0" * 7, 1016), (b"x", 600)]
)
def test_what_is_no_value_of_its_type_is_refused(value: bytes, oid: int):
    with pytest.raises(PgError):
        to_text(value, oid)


def test_declared_types_are_the_engines():
    assert [engine_type(oid) for oid in (16, 20, 25, 1043, 1009, 2950, 19, 26, 0, 705)] == (
        ["bool", "int8", "text", "text", "text[]", "text", "text", "int8", "", ""]
    )
