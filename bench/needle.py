"""Thirteen questions of log analysis and two joins, over growing numbers of events: what they cost, how that grows.

    python -m bench.needle [--millions 2 20] [--rounds 5] [--without] [--again] [--only minute count trace needle]

Access-log events of 22 hours are stored as compaction leaves them, files of at most a million rows an hour. Then each
question is asked of a query process's engine, without HTTP, in another range each time. Printed are processor time as a
ratio to the question for a minute by level, files, and bytes of them. `--without`: beside the same files without text
indexes, round by round. `--again`: with what files answered to a question before, of which nothing is known otherwise.
Takes about 15 s per million events, and 70 bytes of disk for each.
"""

import argparse
import pickle
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng

from columns import ColumnType, Field
from embedded_postgres import server
from models import base, column, dataset, file
from models.dataset import Dataset
from query.process import partial_aggregates
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Source
from query.process.protocol import Answer
from query.results.options import Options
from storage.context import Layout
from storage.files import parquet
from storage.files.parquet import Origin
from storage.names import partition
from storage.read.snapshot import Snapshot, take_snapshot

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
HOURS: Final = 22
NS: Final = 10**9
HOUR_NS: Final = 3_600 * NS
MOST_FILE_ROWS: Final = 1_000_000
NEEDLE_EVERY: Final = 997
SERVICES: Final = "checkout cart auth search payments catalog shipping mailer gateway profile reports billing".split()
PATHS: Final = "/ /login /cart /cart/add /checkout /api/v1/items /api/v1/users /search /healthz /static/app.js".split()
WORDS: Final = (
    "connection reset peer upstream request completed cache miss hit retry attempt user session token refreshed order "
    "placed invoice sent queue drained worker started stopped slow query lock wait deadlock detected rollback commit "
    "index rebuilt disk usage high memory"
).split()
TEXTS: Final = "level service host message trace_id user_id method path".split()
NUMBERS: Final = {"status": ColumnType.INT64, "latency_ms": ColumnType.FLOAT64, "bytes": ColumnType.INT64}
QUESTIONS: Final = {
    "minute": "SELECT level, count(*) AS n FROM q GROUP BY 1",
    "count": "SELECT count(*) AS n FROM q",
    "by level": "SELECT level, count(*) AS n FROM q GROUP BY 1",
    "per hour": "SELECT service, date_trunc('hour', at) AS h, count(*) AS n FROM q GROUP BY 1, 2",
    "p95": "SELECT service, percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p FROM q GROUP BY 1",
    "top hosts": "SELECT host, count(*) AS n FROM q WHERE level = 'error' GROUP BY 1 ORDER BY n DESC LIMIT 10",
    "word": r"SELECT count(*) AS n FROM q WHERE message ~ '\ytimeout\y'",
    "substring": "SELECT count(*) AS n FROM q WHERE message LIKE '%meout aft%'",
    "trace": "SELECT * FROM q WHERE trace_id = '{trace}'",
    "needle": "SELECT * FROM q WHERE message LIKE '%{needle}%'",
    "its trace": "SELECT * FROM q WHERE trace_id IN (SELECT trace_id FROM q WHERE message LIKE '%{needle}%')",
    "join": "SELECT b.* FROM q a JOIN q b USING (trace_id) WHERE a.message LIKE '%{needle}%' ORDER BY b.at",
    "users": "SELECT count(DISTINCT user_id) AS n FROM q",
    "last errors": "SELECT * FROM q WHERE level = 'error' ORDER BY at DESC LIMIT 100",
    "status": "SELECT status, count(*) AS n, avg(latency_ms) AS l FROM q GROUP BY 1",
}


def events(first: int, count: int, step_ns: float) -> pl.DataFrame:
    """The events from the one with that number on; every 997th has a word that is in no other."""
    draw = default_rng(first)
    numbers = np.arange(first, first + count)
    times = int(START.timestamp()) * NS + (numbers * step_ns).astype(np.int64)
    bits = draw.integers(0, 2**64, (2, count), dtype=np.uint64)
    return pl.DataFrame(
        {
            "at": pl.Series(times).cast(pl.Datetime("ns", "UTC")),
            "level": _pick(draw, ["info"] * 80 + ["debug"] * 12 + ["warn"] * 5 + ["error"] * 3, count),
            "service": pl.Series(SERVICES).gather((draw.pareto(1.1, count) % len(SERVICES)).astype(np.int64)),
            "host": _numbered("node-", draw.integers(0, 200, count), 3),
            "message": _messages(draw, numbers),
            "trace_id": _numbered("", bits[0], 20) + _numbered("", bits[1], 20),
            "user_id": _numbered("u", draw.integers(0, 50_000, count), 6),
            "method": _pick(draw, ["GET", "GET", "GET", "POST", "PUT"], count),
            "path": _pick(draw, PATHS, count),
            "status": _pick(draw, [200] * 70 + [201] * 8 + [204] * 5 + [301] * 4 + [404] * 9 + [500] * 4, count),
            "latency_ms": draw.lognormal(3, 1, count).round(2),
            "bytes": draw.integers(100, 200_000, count),
        }
    )


def _pick(draw: Generator, values: Sequence[object], count: int) -> pl.Series:
    return pl.Series(values).gather(draw.integers(0, len(values), count))


def _numbered(prefix: str, numbers: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", digits: int) -> pl.Series:
    return prefix + pl.Series(numbers).cast(pl.String).str.zfill(digits)


def _messages(draw: Generator, numbers: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> pl.Series:
    count = len(numbers)
    length = pl.Series("length", draw.integers(5, 15, count))
    words = [pl.Series(f"w{n}", WORDS).gather(draw.integers(0, len(WORDS), count)) for n in range(14)]
    rows = pl.DataFrame([length, *words, pl.Series("number", numbers)]).with_columns(
        id="id=" + pl.Series(draw.integers(0, 10**7, count)).cast(pl.String),
        late="timeout after " + pl.Series(draw.integers(100, 30_000, count)).cast(pl.String) + " ms",
        is_late=pl.Series(draw.random(count) < 0.004),
    )
    chosen = [pl.when(pl.col("length") > n).then(pl.col(f"w{n}")) for n in range(14)]
    late = pl.when("is_late").then("late")
    needle = "needle" + pl.col("number").cast(pl.String).str.zfill(9) + "x"
    rare = pl.when(pl.col("number") % NEEDLE_EVERY == 0).then(needle)
    text = pl.concat_str(*chosen, "id", late, rare, separator=" ", ignore_nulls=True)
    return rows.select(text.alias("message")).to_series()


def store(layout: Layout, target: Dataset, count: int) -> None:
    """Store so many events."""
    schema = column.schema(target.id)
    per_hour = count // HOURS
    for hour in range(HOURS):
        first_hour = int(START.timestamp()) // 3_600 + hour
        directory = partition(target.tenant, target.name, first_hour)
        for first in range(0, per_hour, MOST_FILE_ROWS):
            rows = events(hour * per_hour + first, min(MOST_FILE_ROWS, per_hour - first), HOUR_NS / per_hour)
            made = parquet.write(layout, directory, rows, Origin(target, schema, level=3))
            with base.connection():
                file.insert([made], datetime.now(UTC))


class Kept:
    """What a query process would send."""

    def __init__(self) -> None:
        self.note_of: Answer = {}

    def __call__(self, content: bytes, /) -> None:
        """The answer is not looked at."""

    def note(self, content: Answer, /) -> None:
        self.note_of = content


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question took in ms of processor time, and what was read."""

    cpu_ms: float
    files: int
    bytes: int


def ask(execution: Execution, layout: Layout, target: Dataset, sql: str, nth: int, *, is_minute: bool) -> Asked:
    start = START + timedelta(hours=3 + nth) if is_minute else START + timedelta(seconds=7 * nth)
    end = start + timedelta(minutes=1) if is_minute else START + timedelta(hours=24)
    begun, kept = time.process_time(), Kept()
    columns = execution.handle(Parse(sql), kept)["columns"]
    snapshot = take_snapshot(layout, target, *(int(each.timestamp()) * NS for each in (start, end)), columns)
    source: Source = pickle.loads(pickle.dumps(Source(snapshot, snapshot.start, snapshot.end)))
    execution.handle(Execute({"q": source}, 0, Options(), "identity", 2**40), kept)
    took = (time.process_time() - begun) * 1000
    return Asked(took, int(kept.note_of["files"]), int(kept.note_of["bytes"]))


def rare_ones(layout: Layout, target: Dataset, count: int, rounds: int) -> list[tuple[str, str]]:
    """A trace and a word of the same event, for each round."""
    numbers = [
        (131 * nth + 17) * NEEDLE_EVERY % (count // HOURS * HOURS) // NEEDLE_EVERY * NEEDLE_EVERY
        for nth in range(rounds)
    ]
    step = HOUR_NS * HOURS / (count // HOURS * HOURS)
    found = []
    for number in numbers:
        at = int(START.timestamp()) * NS + int(number * step)
        snapshot = take_snapshot(layout, target, at, at + int(step) + 1)
        found.append((_trace(snapshot, f"needle{number:09d}x"), f"needle{number:09d}x"))
    return found


def _trace(snapshot: Snapshot, needle: str) -> str:
    paths = [f"{snapshot.root}/{each.path}" for each in snapshot.files]
    rows = pl.scan_parquet(paths, glob=False, hive_partitioning=False).filter(pl.col("message").str.contains(needle))
    return str(rows.select("trace_id").collect().item())


def measure(layout: Layout, target: Dataset, count: int, rounds: int, names: Sequence[str]) -> dict[str, Asked]:
    """The medians of each question, which are asked in turns."""
    rare = rare_ones(layout, target, count, rounds + 1)
    execution, taken = Execution(), dict[str, list[Asked]]()
    for nth, (trace, needle) in enumerate(rare):
        for name in names:
            text = QUESTIONS[name].replace("{trace}", trace).replace("{needle}", needle)
            taken.setdefault(name, []).append(ask(execution, layout, target, text, nth, is_minute=name == "minute"))
    return {name: _median(each[1:]) for name, each in taken.items()}


def _median(asked: Sequence[Asked]) -> Asked:
    return Asked(
        statistics.median(each.cpu_ms for each in asked),
        round(statistics.median(each.files for each in asked)),
        round(statistics.median(each.bytes for each in asked)),
    )


def without_indexes(target: Dataset) -> None:
    """Have queries take the dataset's files for such without an index."""
    with base.connection():
        base.database.execute_sql("UPDATE file SET index_bytes = 0 WHERE dataset_id = %s", (target.id,))


def report(found: Mapping[int, Mapping[str, Asked]]) -> Iterator[str]:
    yield "question     " + "".join(f"{millions:>6} million: minutes, files, MB" for millions in found)
    least = found[min(found)]
    for name in found[min(found)]:
        cells = [
            f"{each[name].cpu_ms / least['minute'].cpu_ms:>21.2f} {each[name].files:>5} {each[name].bytes / 1e6:>7.1f}"
            for each in found.values()
        ]
        growth = found[max(found)][name].cpu_ms / least[name].cpu_ms
        yield f"{name:<13}{''.join(cells)}   grows {growth:.2f} times"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", nargs="+", type=int, default=[2, 20])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--keep", type=Path, help="a directory that keeps the events for the next run")
    options = parser.parse_args()
    if not options.again:
        partial_aggregates.MOST_SEEN = 0
    with tempfile.TemporaryDirectory() as temporary:
        root = options.keep or Path(temporary)
        run(root, options.millions, options.rounds, options.only, without=options.without)


def run(root: Path, millions: Sequence[int], rounds: int, names: Sequence[str], *, without: bool) -> None:
    url = server.ensure_running(root)
    try:
        base.bind(url, max_connections=2)
        base.migrate()
        layout, found = Layout(root), dict[int, dict[str, Asked]]()
        for each in millions:
            target = prepared(layout, each)
            found[each] = measure(layout, target, each * 10**6, rounds, names)
        print(*report(found), sep="\n")
        if without:
            without_indexes(target)
            plain = {each: measure(layout, target, each * 10**6, rounds, names) for each in millions[-1:]}
            print("\nwithout text indexes", *report(plain), sep="\n")
    finally:
        server.stop(root)


def prepared(layout: Layout, millions: int) -> Dataset:
    """The dataset of so many events, which may be there from a run before."""
    name = f"access-{millions}"
    known = {each.name: each for each in dataset.find_all("default")}
    if name in known:
        return known[name]
    fields = [Field(each, ColumnType.UTF8) for each in TEXTS] + [Field(each, kind) for each, kind in NUMBERS.items()]
    target = dataset.create("default", name, time_column="at", fields=fields)
    begun = time.perf_counter()
    store(layout, target, millions * 10**6)
    with base.connection():
        size, index = base.database.execute_sql(
            "SELECT sum(bytes), sum(index_bytes) FROM file WHERE dataset_id = %s", (target.id,)
        ).fetchone()
    share = float(index) / float(size - index)
    print(
        f"{millions} million events: {float(size) / 1e6:.0f} MB, indexes {share:.1%} of the rest, "
        f"made in {time.perf_counter() - begun:.0f} s"
    )
    return replace(target)


if __name__ == "__main__":
    main()
