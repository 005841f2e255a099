"""Row groups that text indexes rule out are not read, and no answer ever depends on it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl
import pytest

from columns import ColumnType
from models.column import Column, Schema
from models.file import File
from query.pg.patterns.tree import parse_regex
from query.plan.text_search import required_parts
from query.process.execution import Execution
from query.process.messages import Source
from storage.files.statistics import summarize
from storage.files.text_index import RowGroups, build, insert
from storage.read.snapshot import Snapshot
from tests.query.plan.test_conditions import ask

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
GROUP_ROWS: Final = 4
TYPES: Final = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "n": ColumnType.INT64,
    "trace": ColumnType.UTF8,
    "line": ColumnType.UTF8,
    "doc": ColumnType.JSON,
    "late": ColumnType.UTF8,
}
WORDS: Final = (
    "Connection reset by peer",
    "İstanbul gate refused the KELVIN \u212a sensor",
    "ſlow query of the straße 17 was cancelled",
    "äpfel und ÄPFEL, σίσυφος ΣΊΣΥΦΟΣ",
    "100% of _all_ the disks are \\full\\",
    "日本語のテキスト with some latin around it",
    "",
    "tab\tand\nline feed, 'quotes' and \"more\" of them",
)


def _words(row: int) -> str:
    """Letters whose lower case is an ASCII letter are in the first file only."""
    words = WORDS[row % 8]
    return words if row < 100 else words.replace("İ", "I").replace("\u212a", "K").replace("ſ", "s")


def _rows(number: int) -> pl.DataFrame:
    """Sixteen rows with a trace each; long lines, some of which are missing or empty."""
    rows = range(number * 100, number * 100 + 16)
    texts = [
        None if row % 7 == 3 else f"{_words(row)} event{row:06d} of the worker with the id {row * 7919}" for row in rows
    ]
    documents = [
        {"user": f"user_{row}", "nested": {"deep": [f"leaf-{row}"]}, "n": row, "pad": "x" * 40} for row in rows
    ]
    frame = pl.DataFrame(
        {
            "p_timestamp": [START + timedelta(minutes=row) for row in rows],
            "n": list(rows),
            "trace": [None if row % 5 == 1 else "" if row % 5 == 2 else f"Trace-{row}-é" for row in rows],
            "line": [text if row % 8 != 6 else "" for row, text in zip(rows, texts, strict=True)],
            "doc": [
                json.dumps(each, ensure_ascii=number == 1).replace("user_103", "\\u0075ser_103") for each in documents
            ],
        },
        schema_overrides={"p_timestamp": pl.Datetime("us", "UTC")},
    )
    return (
        frame
        if number < 2
        else frame.with_columns(
            late=pl.lit("late words that are in few files of these, event") + pl.col("n").cast(pl.String)
        )
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Four files: three of four row groups with indexes, and one that was made before there were any."""
    root = tmp_path_factory.mktemp("files")
    files = []
    for number in range(4):
        rows, path = _rows(number), root / f"{number}.parquet"
        rows.write_parquet(path, row_group_size=GROUP_ROWS)
        times = rows["p_timestamp"].to_physical() * 1000
        span = int(times.min()), int(times.max())  # type: ignore[arg-type]
        file = File(f"{number}.parquet", 1, *span, rows.height, 1000, stats=summarize(rows))
        if number < 3:
            place = insert(path, build(rows, RowGroups(GROUP_ROWS), 10**6))
            file = replace(file, index_start=place.start, index_bytes=place.bytes)
        files.append(file)
    schema = Schema(1, tuple(Column(name, kind) for name, kind in TYPES.items()))
    return Snapshot(str(root), schema, "p_timestamp", None, None, tuple(files), (), frozenset())


def without_indexes(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, files=tuple(replace(file, index_start=0, index_bytes=0) for file in snapshot.files))


PATTERNS: Final = (
    *(
        "%event000105%",
        "Connection%",
        "%peer event000100%id 791900",
        "%KELVIN%",
        "%kelvin%",
        "%İstanbul%",
        "%istanbul%",
    ),
    *(
        "%slow query%",
        "%straße%",
        "%STRASSE%",
        "%äpfel%",
        "%ÄPFEL%",
        "%σίσυφος%",
        "%\\\\full\\\\%",
        "%100\\%%",
        "%\\_all\\_%",
    ),
    *("%日本語%", "%event00010_ of%", "nothing like it%", "%", "", "_%", "%ab%", "%zzz%", "%tab\tand%", "%''quotes''%"),
)
EXPRESSIONS: Final = (
    *(r"\yevent000105\y", r"event00010[0-9]", r"(event000105|event000207)", r"(?i)KELVIN", r"worker( with)? the id"),
    *(
        r"Connection (reset )+by",
        r"^Connection",
        r"of the worker$",
        r"id\s+791900",
        r"ſlow",
        r"event0001(?=05)",
        r"zz+y",
    ),
)
SEARCHES: Final = (
    *("event000105", "EVENT000105 & worker", "event000105 | event000207", "!event000105", "istanbul", "kelvin", "slow"),
    *("connection <-> reset", "conn:*", "''100%''", "zzz", "full & !zzz", "ab | event000207", "!(event000105 | zzz)"),
)
VALUES: Final = ("Trace-105-é", "Trace-105-É", "", "nobody", "Trace-300-é", "Trace-201-é")
CONDITIONS: Final = [
    *(
        f"line {operator} '{pattern}'"
        for pattern in PATTERNS
        for operator in ("LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE")
    ),
    *(f"line {operator} '{each}'" for each in EXPRESSIONS for operator in ("~", "~*", "!~", "!~*")),
    *(f"to_tsvector('simple', line) @@ to_tsquery('simple', '{each}')" for each in SEARCHES),
    *(f"trace {operator} '{value}'" for value in VALUES for operator in ("=", "<>", "LIKE", "~")),
    "line SIMILAR TO '%(event000105|event000207)%'",
    "line SIMILAR TO 'Connection%peer event000200%'",
    "starts_with(line, 'Connection reset')",
    "line ^@ 'İstanbul'",
    "regexp_like(line, 'event000204')",
    "line = 'Connection reset by peer event000200 of the worker with the id 1583800'",
    "line = 'Connection reset by peer'",
    "line IS NULL",
    "trace IN ('Trace-105-é', 'Trace-208-é')",
    "trace IN ('Trace-105-é', NULL)",
    "trace NOT IN ('Trace-105-é')",
    "trace = ANY(ARRAY['Trace-105-é', 'x'])",
    "trace = 'Trace-105-é' OR line LIKE '%event000207%'",
    "trace = 'Trace-105-é' OR n = 207",
    "trace = 'Trace-105-é' AND line LIKE '%event000105%'",
    "trace = 'Trace-105-é' AND line LIKE '%event000207%'",
    "NOT (trace = 'Trace-105-é' OR line LIKE '%event000207%')",
    "lower(line) LIKE '%event000105%'",
    "doc ->> 'user' = 'user_105'",
    "doc ->> 'user' = 'user_103'",
    "doc ->> 'user' IN ('user_105', 'user_3')",
    "doc -> 'nested' -> 'deep' ->> 0 = 'leaf-105'",
    "doc #>> '{nested,deep,0}' = 'leaf-204'",
    "doc ->> 'n' = '105'",
    "doc ->> 'nested' = '{\"deep\": [\"leaf-105\"]}'",
    "'user_205' = doc ->> 'user'",
    "late LIKE '%event205%'",
    "late = 'nothing'",
]


@pytest.mark.parametrize("only", [None, frozenset({("trace", "Trace-105-é")})], ids=["all", "narrowed"])
def test_no_answer_depends_on_the_indexes(whole: Snapshot, only: frozenset[tuple[str, str]] | None) -> None:
    plain, sparing, spared = Execution(), Execution(), 0
    for condition in CONDITIONS:
        sql = f"SELECT * FROM t WHERE {condition}"
        expected, every = ask(plain, sql, Source(without_indexes(whole), None, None, only))
        found, read = ask(sparing, sql, Source(whole, None, None, only))
        assert found == expected, sql
        spared += every - read
    assert (spared > 60) == (only is None)


# What is asked, and how many of the four files are read: the last one, which has no index, in any case.
QUERIES: Final = {
    "SELECT n FROM t WHERE trace = 'Trace-105-é'": 2,
    "SELECT n FROM t WHERE trace = 'nobody'": 1,
    "SELECT n FROM t WHERE trace IN ('Trace-105-é', 'Trace-205-é')": 3,
    "SELECT n FROM t WHERE line LIKE '%event000105%'": 2,
    "SELECT n FROM t WHERE line ILIKE '%EVENT000105 of%'": 3,  # and that with letters whose lower case is an ASCII one
    "SELECT n FROM t WHERE line ~ 'worker.*id 831495'": 2,
    "SELECT n FROM t WHERE line ~* 'EVENT000105 OF'": 3,
    "SELECT n FROM t WHERE to_tsvector('simple', line) @@ 'event000105 & worker'": 3,
    "SELECT n FROM t WHERE doc ->> 'user' = 'user_205'": 3,  # the file with escaped letters has to be read
    "SELECT n FROM t WHERE trace = 'Trace-105-é' OR line LIKE '%event000207%'": 3,
    "SELECT n FROM t WHERE trace = 'Trace-105-é' OR n = 207": 4,
    "SELECT q.m FROM (SELECT n AS m, trace AS s FROM t) AS q WHERE q.s = 'Trace-105-é'": 2,
    "WITH q AS (SELECT * FROM t) SELECT n FROM q WHERE trace = 'Trace-105-é'": 2,
    "SELECT a.n FROM t a JOIN t b ON a.n = b.n WHERE a.trace = 'Trace-105-é' AND b.trace = 'Trace-105-é'": 2,
    "SELECT a.n FROM t a JOIN t b ON a.n = b.n WHERE a.trace = 'Trace-105-é'": 4,
    "SELECT a.n FROM t a LEFT JOIN t b ON a.n = b.n WHERE a.trace = 'Trace-105-é'": 4,
    "SELECT n FROM (SELECT n, trace FROM t ORDER BY n LIMIT 30) q WHERE trace = 'Trace-105-é'": 4,
    "SELECT n FROM t WHERE NOT trace = 'Trace-105-é'": 4,
}


@pytest.mark.parametrize(("sql", "files"), QUERIES.items())
def test_a_file_is_left_out_where_no_scan_needs_it(sql: str, files: int, whole: Snapshot) -> None:
    found, read = ask(Execution(), sql, Source(whole, None, None))

    assert read == files
    assert found == ask(Execution(), sql, Source(without_indexes(whole), None, None))[0]


def test_only_row_groups_that_may_match_are_read(whole: Snapshot) -> None:
    found, _ = ask(Execution(), "EXPLAIN SELECT n FROM t WHERE trace = 'Trace-105-é'", Source(whole, None, None))

    assert any("by text indexes 4 of 16 rows of 1 file" in line for line in found)


def test_nothing_of_hidden_rows_is_told_by_indexes(whole: Snapshot) -> None:
    """Which texts other rows have must not follow from what is read for a reader under row-level security."""
    only = frozenset({("trace", "Trace-105-é")})
    absent, present = "SELECT n FROM t WHERE trace = 'nobody'", "SELECT n FROM t WHERE trace = 'Trace-205-é'"

    assert ask(Execution(), absent, Source(whole, None, None, only)) == ask(
        Execution(), present, Source(whole, None, None, only)
    )


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("timeout", ["timeout"]),
        (r"\ytime\y out", ["time out"]),
        ("a.b", ["a", "b"]),
        ("abc?d", ["ab", "d"]),
        ("(abc)+d", ["abc", "d"]),
        ("(abc)*d", ["d"]),
        ("(abc){2}d", ["abc", "d"]),
        ("a(bc)d", ["abcd"]),
        ("ab|cd", []),
        ("x(ab|cd)y", ["x", "y"]),
        ("[a]b[cd]", ["ab"]),
        (r"\d+ms", ["ms"]),
        (r"a\.b", ["a.b"]),
        ("ab(?=cd)e", ["abe"]),
        (r"(ab)\1c", ["ab", "c"]),
    ],
)
def test_parts_that_every_match_has(pattern: str, parts: list[str]) -> None:
    assert required_parts(parse_regex(pattern).root) == parts
