"""The oracle's tables: the same rows, every time, for PostgreSQL and for our engine. Knows neither of the two.

`logs`, `services`, `metrics`, `edge` and `hits` look like what telemetry looks like; `scalars`, `docs` and `spans`
hold the values at which engines differ: limits of types, NaN, unicode, leap days, documents of every shape.
"""

import datetime as dt
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeVar

import polars as pl

# Six days from here cross the end of a month, of a year, and of an ISO week-year.
EPOCH: Final = dt.datetime(2024, 12, 29)
DAYS: Final = 6
MICROSECONDS_PER_DAY: Final = 86_400_000_000
LOG_ROWS: Final = 3000
METRIC_ROWS: Final = 2000
HIT_ROWS: Final = 2000
SPAN_ROWS: Final = 1200

SERVICES: Final = ("checkout", "cart", "auth", "search", "billing", "gateway", "Inventory")
LEVELS: Final = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")
LEVEL_WEIGHTS: Final = (20, 50, 15, 13, 2)
STATUSES: Final = (200, 200, 200, 201, 204, 301, 400, 401, 404, 500, 503)
MESSAGES: Final = (
    "GET /api/v1/items/{a} took {b}ms",
    "user u{a} logged in from 10.0.{c}.{d}",
    "ERROR timeout after {b} ms calling http://svc-{c}.internal/path?x={d}",
    "cache_miss key=item_{a}",
    "100% cpu on node-{c}",
    "disk usage {d}% on /dev/sda{c}",
    "Payment FAILED for order #{a}",
    "retry {c}/5: connection refused",
    "naïve café Ünïcödé {d}",
    "path C:\\temp\\file_{a}.log",
    "",
)

Row = tuple[object, ...]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Table:
    """Rows with their types. `json_columns` are String columns whose values are JSON documents."""

    name: str
    frame: pl.DataFrame
    json_columns: frozenset[str] = frozenset()


def every_table() -> tuple[Table, ...]:
    """All tables, generated anew; a fraction of a second."""
    return (logs(), services(), metrics(), edge(), hits(), scalars(), docs(), spans())


def _table(name: str, schema: Mapping[str, pl.DataType], rows: Sequence[Row], *json_columns: str) -> Table:
    return Table(name, pl.DataFrame(rows, schema=schema, orient="row"), frozenset(json_columns))


def logs() -> Table:
    """Application logs in time order, with NULLs in every column that may have them; `attrs` is JSON in a text."""
    source = random.Random(7)
    times = sorted(source.randrange(DAYS * MICROSECONDS_PER_DAY) for _ in range(LOG_ROWS))
    schema = {
        "id": pl.Int64(), "p_timestamp": pl.Datetime("us", "UTC"), "ts": pl.Datetime("us"), "level": pl.String(),
        "service": pl.String(), "host": pl.String(), "status": pl.Int32(), "latency": pl.Float64(), "bytes": pl.Int64(),
        "message": pl.String(), "user_id": pl.String(), "region": pl.String(), "ok": pl.Boolean(), "attrs": pl.String(),
    }  # fmt: skip
    return _table("logs", schema, [_log(source, number, at) for number, at in enumerate(times, 1)])


def _log(source: random.Random, number: int, microseconds: int) -> Row:
    a, b, c, d = source.randrange(1, 500), source.randrange(1, 3000), source.randrange(6), source.randrange(100)
    status = source.choice(STATUSES)
    at = EPOCH + dt.timedelta(microseconds=microseconds)
    attributes = {
        "k": a,
        "http": {"method": ("GET", "POST", "PUT")[c % 3], "code": status},
        "tags": [f"t{d % 4}", "x"],
        "user": None if d % 7 == 0 else f"u{a % 50}",
    }
    return (
        number, at.replace(tzinfo=dt.UTC), at, source.choices(LEVELS, LEVEL_WEIGHTS)[0],
        _or_null(source, 0.02, source.choice(SERVICES)), f"host-{source.randrange(20):02}", status,
        _or_null(source, 0.05, round(source.gammavariate(2.0, 60.0), 3)),
        _or_null(source, 0.08, source.randrange(10_000_000)), source.choice(MESSAGES).format(a=a, b=b, c=c, d=d),
        _or_null(source, 0.3, f"u{a % 50}"), _or_null(source, 0.1, ("eu", "us", "ap")[c % 3]),
        _or_null(source, 0.05, status < 400), json.dumps(attributes),
    )  # fmt: skip


def _or_null(source: random.Random, share: float, value: Value) -> Value | None:
    return None if source.random() < share else value


def services() -> Table:
    """A small dimension table with a NULL key, a key no log has, and keys it lacks."""
    schema = {"service": pl.String(), "team": pl.String(), "tier": pl.Int32(), "slo_ms": pl.Float64()}
    rows = [
        ("checkout", "pay", 1, 100.0), ("cart", "pay", 1, 150.5), ("auth", "sec", 0, 80.0),
        ("search", "find", 2, 300.0), ("billing", None, 1, 250.0), ("legacy", "old", 3, None),
        (None, "none", None, 1.0),
    ]  # fmt: skip
    return _table("services", schema, rows)


def metrics() -> Table:
    """Samples of four metrics on a 15-second grid; only the counter has the label `le`."""
    source = random.Random(9)
    names = ("http_requests_total", "process_cpu_seconds_total", "go_goroutines", "up")
    schema = {
        "ts": pl.Datetime("us"), "metric_name": pl.String(), "job": pl.String(), "instance": pl.String(),
        "le": pl.String(), "value": pl.Float64(),
    }  # fmt: skip
    rows: list[Row] = []
    for step in sorted(source.randrange(17_280) for _ in range(METRIC_ROWS)):
        name = source.choice(names)
        value = float(source.randrange(2)) if name == "up" else round(source.random() * 1000, 4)
        rows.append((
            EPOCH + dt.timedelta(seconds=15 * step), name, source.choice(("api", "node")),
            f"10.0.0.{source.randrange(1, 9)}:9100",
            source.choice(("0.1", "0.5", "1", "+Inf")) if name == names[0] else None, value,
        ))  # fmt: skip
    return _table("metrics", schema, rows)


def edge() -> Table:
    """Ten rows where comparison, patterns and arithmetic go wrong first."""
    at, day = dt.datetime, dt.date
    schema = {
        "id": pl.Int32(), "i": pl.Int32(), "j": pl.Int32(), "f": pl.Float64(), "s": pl.String(), "t": pl.String(),
        "b": pl.Boolean(), "ts": pl.Datetime("us"), "d": pl.Date(),
    }  # fmt: skip
    rows = [
        (1, 7, 2, 2.5, "abc", "50%", True, at(2024, 12, 29, 23, 59, 59, 999999), day(2024, 2, 29)),
        (2, -7, 2, -2.5, "ABC", "a_c", False, at(2024, 12, 30), day(2024, 12, 31)),
        (3, 7, -2, 0.5, "", "a\\b", None, at(2025, 1, 1), day(2025, 1, 1)),
        (4, 0, 5, 1.5, None, None, True, None, None),
        (5, None, 3, None, "äöü", "A.C", None, at(2021, 1, 3, 12, 30, 45, 123456), day(2021, 1, 3)),
        (6, 10, None, -0.5, " pad ", "[x]", False, at(2020, 2, 29, 6, 7, 8), day(2020, 2, 29)),
        (7, 2147483647, 1, 1e15, "abc", "line1\nline2", True, at(1999, 12, 31, 23, 59, 59), day(1999, 12, 31)),
        (8, -1, 3, 3.5, "Zebra", "a+b", False, at(2024, 7, 1, 1, 2, 3, 4000), day(2024, 7, 1)),
        (9, 5, 5, 4.5, "a,b,c", "x^y$", True, at(1969, 7, 20, 20, 17, 40), day(1969, 7, 20)),
        (10, 100, 7, 0.1, "foo123bar45", "tab\there", None, at(2024, 3, 10, 2, 30), day(2024, 3, 10)),
    ]
    return _table("edge", schema, rows)


HIT_SMALLINTS: Final = (
    "javaenable", "goodevent", "counterclass", "os", "useragent", "isrefresh", "referercategoryid", "urlcategoryid",
    "resolutionwidth", "resolutionheight", "flashmajor", "useragentmajor", "ismobile", "mobilephone",
    "traficsourceid", "searchengineid", "advengineid", "windowclientwidth", "windowclientheight", "clienttimezone",
    "islink", "isdownload", "dontcounthits", "age", "sex", "income", "interests", "httperror",
)  # fmt: skip
HIT_FLAGS: Final = frozenset({"isrefresh", "dontcounthits", "islink", "isdownload"})
DOMAINS: Final = ("www.google.com", "yandex.ru", "example.org", "shop.google.de", "news.site")


def hits() -> Table:
    """Web analytics with skewed identifiers and many small integers."""
    source = random.Random(11)
    addresses = [source.randrange(-(2**31), 2**31) for _ in range(HIT_ROWS // 8)]
    users = [source.randrange(1, 2**60) for _ in range(HIT_ROWS // 10)]
    schema: dict[str, pl.DataType] = {
        "watchid": pl.Int64(), "counterid": pl.Int32(), "clientip": pl.Int32(), "regionid": pl.Int32(),
        "userid": pl.Int64(), "urlhash": pl.Int64(), "refererhash": pl.Int64(),
        **{name: pl.Int16() for name in HIT_SMALLINTS},
        "url": pl.String(), "referer": pl.String(), "title": pl.String(), "searchphrase": pl.String(),
        "mobilephonemodel": pl.String(), "eventtime": pl.Datetime("us"), "eventdate": pl.Date(),
    }  # fmt: skip
    return _table("hits", schema, [_hit(source, addresses, users) for _ in range(HIT_ROWS)])


def _hit(source: random.Random, addresses: Sequence[int], users: Sequence[int]) -> Row:
    at = dt.datetime(2013, 7, 1) + dt.timedelta(seconds=source.randrange(31 * 86_400))
    page, referer, phrase, model = (_skewed(source, most) for most in (20_000, 8_000, 6_000, 40))
    host = DOMAINS[page % 5]
    return (
        source.randrange(1, 2**62), 62 if source.random() < 0.2 else _skewed(source, 5000), source.choice(addresses),
        _skewed(source, 2000), users[_skewed(source, len(users))], source.randrange(2000), source.randrange(500),
        *(_hit_number(source, name) for name in HIT_SMALLINTS),
        "" if page % 50 == 49 else f"http{'s' * (page % 2)}://{host}/p/{page}?q={page % 97}",
        "" if referer % 3 == 0 else f"https://{DOMAINS[referer % 5]}/r/{referer}/",
        f"Google page {page}" if page % 7 == 0 else f"Title {page}",
        "" if phrase % 2 == 0 else f"phrase {phrase}", "" if model % 2 == 0 else f"model{model}", at, at.date(),
    )  # fmt: skip


def _hit_number(source: random.Random, name: str) -> int:
    if name in HIT_FLAGS:
        return int(source.random() < 0.1)
    if name == "resolutionwidth":
        return source.choice((0, 1024, 1280, 1366, 1920))
    return _skewed(source, 30)


def _skewed(source: random.Random, most: int) -> int:
    """A number below `most`; small ones are far more frequent (a power law of exponent 2)."""
    return int(1 / (1 - source.random())) % most


def scalars() -> Table:
    """One row per extreme: limits of the integers, NaN and infinities, texts and times that are easy to get wrong."""
    schema = {
        "id": pl.Int32(), "i2": pl.Int16(), "i4": pl.Int32(), "i8": pl.Int64(), "n": pl.Decimal(18, 4),
        "f": pl.Float64(), "s": pl.String(), "b": pl.Boolean(), "ts": pl.Datetime("us"),
        "tz": pl.Datetime("us", "UTC"), "d": pl.Date(),
    }  # fmt: skip
    columns = (
        (0, 32767, -32768, 1, -1, 7, None, 100),
        (0, 2**31 - 1, -(2**31), 1, -1, 46341, None, 1000),
        (0, 2**63 - 1, -(2**63), 1, -1, 3_037_000_500, None, 2**53 + 1),
        tuple(None if text is None else Decimal(text) for text in NUMERICS),
        (0.0, float("nan"), float("inf"), float("-inf"), -0.0, 1.5, None, 1e-300, 1e308, 0.1, 2.5, -3.5, 123456.789),
        TEXTS,
        (True, False, None),
        TIMES,
        tuple(None if at is None else at.replace(tzinfo=dt.UTC) for at in reversed(TIMES)),
        DATES,
    )
    height = max(len(values) for values in columns)
    rows = [(row + 1, *(values[row % len(values)] for values in columns)) for row in range(height)]
    return _table("scalars", schema, rows)


NUMERICS: Final = ("0", "0.5", "-0.5", "1.5000", "2.5", "-2.5", "0.0001", "99999999999999.9999", None, "-12345.6789")
TEXTS: Final = (
    "", " ", "a", "A", "straße", "STRASSE", "e\u0301te\u0301", "été", "🙂👍🏽", "日本語", "tab\there", "line\nbreak",
    'quo"te', "back\\slash", "%", "_", "null", "NULL", None, "42", " 42 ", "-7.5", "1e3", "true", "2024-02-29",
    "İstanbul", "ﬁne", "a\u00a0b", "x" * 60,
)  # fmt: skip
TIMES: Final = (
    dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2000, 2, 29, 12),
    dt.datetime(2024, 2, 29, 23, 59, 59, 500000), dt.datetime(2024, 12, 30), dt.datetime(2025, 1, 1, 0, 0, 0, 1),
    None, dt.datetime(2026, 1, 4, 6, 7, 8), dt.datetime(2027, 1, 3, 18, 30), dt.datetime(1900, 1, 1, 1, 1, 1),
    dt.datetime(2037, 7, 11, 23, 47, 16), dt.datetime(2024, 3, 31, 1, 30), dt.datetime(2024, 10, 27, 1, 30),
)  # fmt: skip
DATES: Final = (
    dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2024, 12, 30), dt.date(2023, 1, 1), dt.date(2020, 12, 31),
    dt.date(2026, 12, 31), None, dt.date(1900, 2, 28), dt.date(2024, 2, 29),
)  # fmt: skip


def docs() -> Table:
    """Documents of every shape as JSON, and lists with NULLs, nothing, and duplicates."""
    schema = {
        "id": pl.Int64(), "body": pl.String(), "tags": pl.List(pl.String()), "nums": pl.List(pl.Int64()),
        "reals": pl.List(pl.Float64()), "flags": pl.List(pl.Boolean()), "note": pl.String(),
    }  # fmt: skip
    tags = (["a", "b"], [], None, ["b", None, "a"], ["x y", 'q"uote', "com,ma", "{br}"], ["a", "a"], ["NULL", ""])
    numbers = ([1, 2, 3], [], None, [None], [3, 1, 2, 3], [-5, 2**62], [10])
    reals = ([0.5, 1.5], None, [], [2.25, None], [1e10])
    flags = ([True, False], None, [None, True], [])
    rows = [
        (row + 1, body, tags[row % 7], numbers[row % 7], reals[row % 5], flags[row % 4], f"note {row % 4}")
        for row, body in enumerate(DOCUMENTS)
    ]
    return _table("docs", schema, rows, "body")


DOCUMENTS: Final = (
    '{"a": 1, "b": {"c": [1, 2, {"d": "deep"}]}, "s": "text"}',
    '{"a": 2.50, "b": null, "s": ""}',
    '{"a": "3", "b": {}, "s": "O\'Hara \\"q\\" \\\\ \\u00e9 🙂"}',
    '{"a": -1e3, "b": [], "t": true}',
    '{"a": [1, "two", null, true, [5]], "b": {"c": "str"}}',
    "[1, 2, 3]",
    '["x", {"y": 1}, null]',
    '"just text"',
    "42",
    "-0.0",
    "true",
    "null",
    None,
    "{}",
    "[]",
    '{"a": 12345678901234567890, "f": 0.1, "k": "dup", "nested": {"k": {"k": 1}}}',
    '{"": "empty key", "A": "upper", "a": "lower", "a b": "space", "a.b": "dot"}',
    '{"items": [{"n": 1, "p": 9.99}, {"n": 2, "p": 0.01}, {"n": 3}], "a": 7}',
    '{"a": false, "when": "2024-12-30T10:11:12Z", "n": "17"}',
    "[[1, 2], [3, [4, 5]], []]",
)


def spans() -> Table:
    """Spans as OpenTelemetry sends them: nanosecond times, a dotted and a mixed-case name, JSON attributes."""
    source = random.Random(13)
    schema = {
        "trace_id": pl.String(), "span_id": pl.String(), "parent_span_id": pl.String(), "name": pl.String(),
        "service.name": pl.String(), "httpStatus": pl.Int64(), "start_time": pl.Datetime("ns", "UTC"),
        "end_time": pl.Datetime("ns", "UTC"), "duration_ms": pl.Float64(), "error": pl.Boolean(),
        "attributes": pl.String(), "events": pl.String(), "codes": pl.List(pl.Int64()),
    }  # fmt: skip
    rows = [_span(source, number) for number in range(SPAN_ROWS)]
    return _table("spans", schema, rows, "attributes", "events")


def _span(source: random.Random, number: int) -> Row:
    trace, place = divmod(number, 4)
    start = EPOCH.replace(tzinfo=dt.UTC) + dt.timedelta(seconds=40 * trace, milliseconds=source.randrange(30_000))
    milliseconds = source.randrange(1, 2_000_000) / 1000
    status = source.choice(STATUSES)
    attributes: dict[str, object] = {"http": {"route": f"/v{trace % 3}/items", "status": status}, "retry": place}
    if number % 5 == 0:
        attributes["db"] = {"system": "postgresql", "rows": source.randrange(1000), "ms": source.randrange(900) / 10}
    events = [{"name": source.choice(("retry", "cache", "exception")), "at": step} for step in range(number % 3)]
    return (
        f"{trace:032x}", f"{number:016x}", None if place == 0 else f"{4 * trace + (place - 1) // 2:016x}",
        source.choice(("GET /items", "SELECT items", "render", "checkout")), source.choice(SERVICES), status, start,
        start + dt.timedelta(milliseconds=milliseconds), milliseconds, status >= 500, json.dumps(attributes),
        json.dumps(events) if events else None, [status, place] if number % 4 else None,
    )  # fmt: skip
