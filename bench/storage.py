"""How much the storage costs over the bare work it is made of. Prints ratios; compare them within one run only.

    python -m bench.storage [conversion] [choosing] [unconverted] [listing] [schemas] [background]

Needs nothing but the requirements; takes about a minute on two cores and cleans up after itself.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from columns import Batch, ColumnType, Field
from embedded_postgres import server
from models import base, dataset, file
from models.dataset import Dataset
from models.file import File
from storage.context import Layout
from storage.files.statistics import summarize
from storage.names import SEGMENT_SUFFIX, partition, unique
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.times import span
from storage.upkeep.compaction import compact
from storage.upkeep.conversion import convert_all
from storage.wal.records import decode, to_rows
from storage.wal.segments import list_segments
from storage.write.arrival import Arrival
from storage.write.engine import Storage

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
RATE_SECONDS: Final = 4.0
PILED: Final = 10_000
HOUR_NS: Final = 3_600 * 10**9
# Of 360 seconds on two workers, one every five seconds.
LISTED: Final = 144

Question = Callable[[pl.LazyFrame], pl.LazyFrame]


def events(count: int, seed: int = 0) -> Batch:
    """Log events of 14 fields, about 420 bytes of JSON each."""
    chance = random.Random(seed)
    texts = {
        "level": lambda: chance.choice(["INFO", "WARN", "ERROR", "DEBUG"]),
        "host": lambda: f"web-{chance.randrange(40)}.eu-west-1.example.net",
        "service": lambda: chance.choice(["checkout", "cart", "search", "login"]),
        "method": lambda: chance.choice(["GET", "POST"]),
        "path": lambda: f"/api/v1/items/{chance.randrange(10**6)}",
        "trace_id": lambda: f"{chance.getrandbits(128):032x}",
        "user": lambda: f"user-{chance.randrange(10**5)}",
        "message": lambda: f"request {chance.randrange(10**9)} finished after the upstream answered",
        "region": lambda: "eu-west-1",
    }
    columns = {name: pl.Series(name, [make() for _ in range(count)]) for name, make in texts.items()}
    numbers = {
        name: pl.Series(name, [chance.randrange(1000) for _ in range(count)]) for name in ("status", "bytes", "ms")
    }
    floats = {name: pl.Series(name, [chance.random() for _ in range(count)]) for name in ("cpu", "load")}
    fields = (
        *(Field(name, ColumnType.UTF8) for name in columns),
        *(Field(name, ColumnType.INT64) for name in numbers),
        *(Field(name, ColumnType.FLOAT64) for name in floats),
    )
    return Batch(fields, (*columns.values(), *numbers.values(), *floats.values()), count)


def median_seconds(action: Callable[[], object], repeat: int = 5) -> float:
    """The median time of the action."""
    return statistics.median(taken(action)[0] for _ in range(repeat))


def median_cpu_seconds(action: Callable[[], object], repeat: int = 5) -> float:
    """The median of the processor's time that the action takes in this process, which other programs do not change."""
    return statistics.median(taken(action)[1] for _ in range(repeat))


def taken(action: Callable[[], object]) -> tuple[float, float]:
    """The action's time, and the processor's in this process, in seconds."""
    begin, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - begin, time.process_time() - cpu


def report(what: str, value: float, wanted: str) -> None:
    print(f"{what:<78} {value:6.2f}   (aim: {wanted})", flush=True)


@contextmanager
def world() -> Iterator[Path]:
    """A data directory with an embedded PostgreSQL, bound and migrated."""
    root = Path(tempfile.mkdtemp(prefix="weir-bench-"))
    try:
        base.bind(server.ensure_running(root))
        base.migrate()
        yield root
    finally:
        server.stop(root)
        shutil.rmtree(root)


def fill(storage: Storage, target: Dataset, batch: Batch, batches: int, at: datetime = START) -> None:
    for number in range(batches):
        storage.append(target, batch, Arrival(at + timedelta(milliseconds=number), "192.0.2.1", "bench"))


def conversion(layout: Layout) -> None:
    """A segment into Parquet, against only decoding its frames and writing them."""
    target = dataset.create("default", "conversion")
    batch = events(1000)
    ratios, cpu_ratios = [], []
    for _ in range(5):
        storage = Storage(layout, flush_seconds=3600)
        fill(storage, target, batch, 60)
        storage.close()
        (staged,) = stage_unconverted(layout)
        bare = layout.root / "bare.parquet"

        def bare_work(path: str = staged.path, name: str = staged.name, output: Path = bare) -> None:
            rows = pl.concat([to_rows(frame) for frame in decode(Path(path).read_bytes(), name)])
            rows.write_parquet(output, compression="zstd", compression_level=1, row_group_size=65_536)

        bare_seconds, bare_cpu_seconds = median_seconds(bare_work), median_cpu_seconds(bare_work)
        seconds, cpu_seconds = taken(lambda: convert_all(layout))
        ratios.append(bare_seconds / seconds)
        cpu_ratios.append(bare_cpu_seconds / cpu_seconds)
        bare.unlink()
    report("conversion rate / bare read-IPC and write-Parquet", statistics.median(ratios), ">= 0.6")
    report("  the same in processor time of the process", statistics.median(cpu_ratios), ">= 0.6")


def stage_unconverted(layout: Layout) -> list[object]:
    from_database = {name for (name,) in base.database.execute_sql("SELECT name FROM segment").fetchall()}
    return [each for each in list_segments(layout.staging) if each.name not in from_database]


def choosing(layout: Layout) -> None:
    """A range that hits 10 files, out of 10,000 and out of 10."""
    few, many = dataset.create("default", "few"), dataset.create("default", "many")
    for target, count in ((few, 10), (many, 10_000)):
        rows = [
            (f"x/{unique()}.parquet", target.id, hour * HOUR_NS, hour * HOUR_NS + HOUR_NS - 1) for hour in range(count)
        ]
        for begin in range(0, count, 1000):
            _insert(rows[begin : begin + 1000])
    base.database.execute_sql("ANALYZE file")

    def choose(target: Dataset, first: int) -> list[File]:
        return file.find(target.id, first * HOUR_NS, (first + 10) * HOUR_NS)

    assert len(choose(many, 5000)) == len(choose(few, 0)) == 10
    times = [median_seconds(lambda t=t, f=f: choose(t, f), 50) for t, f in ((many, 5000), (few, 0))]
    report("choosing 10 of 10,000 files / 10 of 10", times[0] / times[1], "<= 2")
    base.database.execute_sql("DELETE FROM file WHERE path LIKE 'x/%%'")


def _insert(rows: list[tuple[str, int, int, int]]) -> None:
    values = ", ".join(["(%s, %s, %s, %s, 1, 1, 1, 0, '{}')"] * len(rows))
    base.database.execute_sql(
        f"INSERT INTO file (path, dataset_id, tmin, tmax, rows, bytes, body_bytes, level, stats) VALUES {values}",
        [value for row in rows for value in row],
    )


def unconverted(layout: Layout) -> None:
    """The same query over the same rows, from segments and from Parquet; by appends of one event, of 100 and of 1,000.

    No event is like another: of repeated ones Parquet would keep next to nothing.
    """
    for rows, appends in ((1, 3000), (100, 1000), (1000, 100)):
        target = dataset.create("default", f"tail_{rows}")
        storage = Storage(layout, flush_seconds=3600)
        fill_in_parts(storage, target, events(rows * appends), rows)
        _unconverted(layout, target, storage, f"{rows * appends:,} unconverted events in {appends:,} frames")


def fill_in_parts(storage: Storage, target: Dataset, batch: Batch, rows: int) -> None:
    """The batch in appends of so many rows."""
    for first in range(0, batch.height, rows):
        columns = tuple(each.slice(first, rows).rechunk() for each in batch.columns)
        at = START + timedelta(milliseconds=first // rows)
        storage.append(target, Batch(batch.fields, columns, rows), Arrival(at, "192.0.2.1", "bench"))


def numbers(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Three of the columns, short."""
    return rows.filter(pl.col("status") > 500).group_by("service").agg(pl.len(), pl.col("ms").mean())


def texts(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Two of the columns, long."""
    return rows.filter(pl.col("message").str.contains("77")).group_by("host").agg(pl.len())


def everything(rows: pl.LazyFrame) -> pl.LazyFrame:
    """All columns."""
    return rows.select(pl.all().is_not_null().sum())


def _unconverted(layout: Layout, target: Dataset, storage: Storage, what: str) -> None:
    questions = (numbers, texts, everything)

    def ask(question: Question, tails: UnconvertedRows, start: int | None = None) -> pl.DataFrame:
        return question(scan(take_snapshot(layout, target, start), tails)).collect(engine="streaming")

    kept = UnconvertedRows()
    first = [median_cpu_seconds(lambda q=q: ask(q, UnconvertedRows())) for q in questions]
    ask(numbers, kept)
    again = median_cpu_seconds(lambda: ask(numbers, kept))
    end = int((START + timedelta(days=1)).timestamp()) * 10**9
    elsewhere = median_cpu_seconds(lambda: ask(numbers, UnconvertedRows(), end))
    storage.close()
    convert_all(layout)
    converted = [median_cpu_seconds(lambda q=q: ask(q, kept)) for q in questions]
    report(f"query over {what} / converted, tail known", again / converted[0], "<= 2")
    for question, one, other in zip(questions, first, converted, strict=True):
        report(f"  the first such query in a process, {question.__name__}", one / other, "shown")
    report("  the first such query of a range that none of them is in", elsewhere / converted[0], "shown")


def listing(layout: Layout) -> None:
    """What is to be read, while segments that were converted a while ago are still there."""
    target = dataset.create("default", "listing")
    layout.staging.mkdir(parents=True, exist_ok=True)
    alone = median_cpu_seconds(lambda: take_snapshot(layout, target), 25)
    with base.database.atomic():
        for _ in range(LISTED):
            name = unique()
            (layout.staging / f"{name}{SEGMENT_SUFFIX}").touch()
            base.database.execute_sql(
                "INSERT INTO segment (name, node, converted_at) VALUES (%s, 'bench', now())", (name,)
            )
    take_snapshot(layout, target)
    beside = median_cpu_seconds(lambda: take_snapshot(layout, target), 25)
    report(f"snapshot beside {LISTED:,} converted segments / none", beside / alone, "shown")


def schemas(layout: Layout) -> None:
    """100 files of 50 schemas against 100 files of one."""
    one, many = dataset.create("default", "one"), dataset.create("default", "many_schemas")
    batch = events(1000)
    for number in range(100):
        extra = Field(f"extra_{number % 50}", ColumnType.INT64)
        wide = Batch((*batch.fields, extra), (*batch.columns, pl.Series(extra.name, [number] * 1000)), 1000)
        storage = Storage(layout, flush_seconds=3600)
        storage.append(one, batch, Arrival(START))
        storage.append(many, wide, Arrival(START))
        storage.close()
        convert_all(layout)

    def query(target: Dataset) -> pl.DataFrame:
        return scan(take_snapshot(layout, target)).group_by("service").agg(pl.len(), pl.col("ms").mean()).collect()

    assert len(take_snapshot(layout, many).files) == 100
    times = [median_seconds(lambda t=t: query(t), 7) for t in (many, one)]
    report("query over 100 files of 50 schemas / of one", times[0] / times[1], "<= 1.3")
    before = times[1]
    while compact(layout):
        pass
    report("  the same after compaction / before", median_seconds(lambda: query(one), 7) / before, "< 1")


def background(layout: Layout) -> None:
    """Ingest beside a maintenance that only converts, and beside one that has many small files to compact too."""
    target, piled = dataset.create("default", "ingest"), dataset.create("default", "piled")
    batch = events(1000)
    storage = Storage(layout, flush_seconds=1)

    def rate() -> float:
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < RATE_SECONDS:
            storage.append(target, batch, Arrival(datetime.now(UTC)))
            done += 1
        return done / (time.perf_counter() - begin)

    pile(layout, piled, PILED)
    ratios = []
    with maintained(layout):
        for _ in range(4):
            hide(piled, True)
            alone = rate()
            hide(piled, False)
            ratios.append(rate() / alone)
    left = len(take_snapshot(layout, piled).files)
    storage.close()
    ratio = statistics.median(ratios)
    report(f"ingest beside compaction ({PILED:,} files, {left:,} left) / beside conversion alone", ratio, ">= 0.85")


def hide(target: Dataset, is_hidden: bool) -> None:
    """Let compaction take the dataset's files for large ones, or for what they are."""
    sign = "+" if is_hidden else "-"
    base.database.execute_sql(f"UPDATE file SET bytes = bytes {sign} 1000000000000 WHERE dataset_id = %s", (target.id,))


def pile(layout: Layout, target: Dataset, count: int) -> None:
    """So many small files of one-minute data, written without the syncs of real ones, which would take minutes."""
    small = pl.DataFrame(list(events(200).columns))
    files = []
    for minute in range(count):
        at = START + timedelta(minutes=minute)
        rows = small.with_columns(pl.lit(at).cast(pl.Datetime("us", "UTC")).alias("p_timestamp"))
        path = f"{partition('default', target.name, int(at.timestamp()) // 3600)}/{unique()}.parquet"
        (layout.root / path).parent.mkdir(parents=True, exist_ok=True)
        rows.write_parquet(layout.root / path, compression="zstd", compression_level=1)
        tmin, tmax = span(rows, "p_timestamp")
        size = (layout.root / path).stat().st_size
        files.append(File(path, target.id, tmin, tmax, rows.height, size, stats=summarize(rows)))
    with base.database.atomic():
        file.insert(files, START)


@contextmanager
def maintained(layout: Layout) -> Iterator[None]:
    """The real maintenance process runs meanwhile."""
    environment = {**os.environ, "WEIR_DATA_DIR": str(layout.root)}
    process = subprocess.Popen(
        [sys.executable, "-m", "storage.upkeep.maintenance"], env=environment, stderr=subprocess.DEVNULL
    )
    time.sleep(2)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> None:
    with world() as root, base.connection():
        layout = Layout(root)
        chosen = sys.argv[1:]
        for measure in (conversion, choosing, unconverted, listing, schemas, background):
            if not chosen or measure.__name__ in chosen:
                measure(layout)


if __name__ == "__main__":
    main()
