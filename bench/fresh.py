"""The first query over rows that are not converted yet, against the same query over them converted.

    python -m bench.fresh [--events 20000 100000] [--frames 1000 100 1] [--shapes access nested otlp] [--rounds 5]

Decoded requests are appended so that each frame holds as many events as asked for; frames of one event stop at 20,000
events. Each question goes to a query process's engine without HTTP: one that has read no frame (first), the same once
more (again), and one beside it (other). Then the rows are converted, and engines that have read nothing are asked.

Printed are ratios of processor time, and the parts of the first query: the snapshot, walking and reading the records
or their columns with their checksums, decoding and joining the columns, and the rest, which is the query. The rows are
in memory (/dev/shm, where there is one), since a sync for each frame is not what is measured.
"""

import argparse
import os
import pickle
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import orjson

from bench.load import flat, nested
from bench.needle import Kept
from bench.otlp_decode import payload
from columns import Batch
from embedded_postgres import server
from ingest.json.decoding import decode
from ingest.otlp import logs
from models import base, dataset
from models.dataset import Dataset
from query.process.execution import Execution
from query.process.messages import Execute, Parse, Source
from query.results.options import Options
from storage.context import Layout
from storage.names import SEGMENT_SUFFIX
from storage.read.snapshot import take_snapshot
from storage.read.unconverted_rows import RecordReader, UnconvertedRows
from storage.upkeep.conversion import convert_all
from storage.wal.gathered_index import OpenSegment
from storage.wal.segments import list_segments
from storage.write.arrival import Arrival
from storage.write.engine import Storage

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
MOST_SINGLE: Final = 20_000
PORTION: Final = 1000
QUESTIONS: Final = {
    "by level": "SELECT {level}, count(*) AS n FROM q WHERE 1 < {nth} GROUP BY 1",
    "text": "SELECT count(*) AS n FROM q WHERE {text} LIKE '%{nth}7%'",
    "last 100": "SELECT * FROM q WHERE 1 < {nth} ORDER BY p_timestamp DESC LIMIT 100",
    "number": "SELECT max({number}) AS n FROM q WHERE {number} > {nth}",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of events: a decoded request of `PORTION` events for each number, and its columns."""

    make: Callable[[int], Batch]
    level: str
    text: str
    number: str


def _access(number: int) -> Batch:
    chance = random.Random(number)
    return decode(orjson.dumps([flat(chance) for _ in range(PORTION)]))


def _nested(number: int) -> Batch:
    chance = random.Random(number)
    return decode(orjson.dumps([nested(chance) for _ in range(PORTION)]))


def _otlp(number: int) -> Batch:
    return logs.decode(payload(PORTION, number).SerializeToString(), "application/x-protobuf").batch


SHAPES: Final = {
    "access": Shape(_access, "level", "message", "latency_ms"),
    "nested": Shape(_nested, "level", "message", "http_latency_ms"),
    "otlp": Shape(_otlp, "severity_text", "body", '"thread.id"'),
}


@contextmanager
def world() -> Iterator[Layout]:
    """A data directory with an embedded PostgreSQL, in memory if there is room for that."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="weir-fresh-", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        base.bind(server.ensure_running(root), max_connections=2)
        base.migrate()
        yield Layout(root)
    finally:
        server.stop(root)
        shutil.rmtree(root)


def fill(storage: Storage, target: Dataset, shape: Shape, events: int, per_frame: int) -> None:
    """Append so many events, a frame for each `per_frame` of them."""
    for portion in range(events // PORTION):
        batch = shape.make(portion)
        for first in range(0, PORTION, per_frame):
            columns = tuple(each.slice(first, per_frame).rechunk() for each in batch.columns)
            at = START + timedelta(milliseconds=portion * PORTION + first)
            storage.append(target, Batch(batch.fields, columns, per_frame), Arrival(at, "192.0.2.1", "bench"))


def cpu_ms(action: Callable[[], object]) -> float:
    begun = time.process_time()
    action()
    return (time.process_time() - begun) * 1000


def ask(execution: Execution, layout: Layout, target: Dataset, sql: str) -> None:
    """The whole of a query, as the worker and a query process share it."""
    kept = Kept()
    columns = execution.handle(Parse(sql), kept)["columns"]
    snapshot = take_snapshot(layout, target, None, None, columns)
    source: Source = pickle.loads(pickle.dumps(Source(snapshot, None, None)))
    answer = execution.handle(Execute({"q": source}, 0, Options(), "identity", 2**40), kept)
    if answer["expired"]:
        raise RuntimeError("the snapshot expired")


@dataclass(frozen=True, slots=True)
class Asked:
    """Medians in ms of processor time."""

    first: float
    again: float
    other: float


def measure(layout: Layout, target: Dataset, texts: Sequence[str]) -> Asked:
    """The same question, each time with another constant, so that no answer is remembered."""
    rounds: list[tuple[float, ...]] = []
    for first, again, other in zip(texts[::3], texts[1::3], texts[2::3], strict=True):
        one, two = Execution(), Execution()
        asked = ((one, first), (one, again), (two, other))
        rounds.append(tuple(cpu_ms(lambda e=e, sql=sql: ask(e, layout, target, sql)) for e, sql in asked))
    return Asked(*(statistics.median(each) for each in zip(*rounds, strict=True)))


@dataclass(frozen=True, slots=True)
class Parts:
    """What of a first query is not the query, in ms of processor time."""

    snapshot: float
    reading: float
    decoding: float


def parts(layout: Layout, target: Dataset, columns: Sequence[str], rounds: int) -> Parts:
    snapshot = take_snapshot(layout, target)

    def read() -> None:
        index = UnconvertedRows().index
        for segment in snapshot.segments:
            with OpenSegment(segment) as opened:
                reading = RecordReader(opened, index.update(segment, opened.fd), columns)
                for _ in reading.parts(reading.indexed.locations(target.id, segment.size), reading.verified):
                    pass

    def decode_all() -> None:
        UnconvertedRows().read(target.id, snapshot.segments, columns=columns)

    taken = statistics.median(cpu_ms(lambda: take_snapshot(layout, target)) for _ in range(rounds))
    reading, whole = (statistics.median(cpu_ms(each) for _ in range(rounds)) for each in (read, decode_all))
    return Parts(taken, reading, whole - reading)


def texts_of(question: str, shape: Shape, count: int) -> list[str]:
    names = {"level": shape.level, "text": shape.text, "number": shape.number}
    return [question.format(**names, nth=2 + number) for number in range(count)]


def column_of(name: str, shape: Shape) -> list[str]:
    """The only column of which the question reads all rows; none of the last 100, which reads the newest records."""
    read = {"by level": shape.level, "text": shape.text, "number": shape.number}
    return [read[name].strip('"')] if name in read else []


def run(layout: Layout, name: str, events: int, per_frame: int, rounds: int) -> None:
    shape, target = SHAPES[name], dataset.create("default", f"{name}-{events}-{per_frame}")
    storage = Storage(layout, flush_seconds=3600)
    fill(storage, target, shape, events, per_frame)
    unconverted = staged_bytes(layout) / 1e6
    texts = {each: texts_of(sql, shape, 3 * rounds) for each, sql in QUESTIONS.items()}
    fresh = {each: measure(layout, target, asked) for each, asked in texts.items()}
    shares = {each: parts(layout, target, columns, rounds) for each in QUESTIONS if (columns := column_of(each, shape))}
    storage.close()
    convert_all(layout)
    converted = {each: measure(layout, target, asked) for each, asked in texts.items()}
    print(f"{name}, {events:,} events, {per_frame:,} in a frame, {unconverted:.0f} MB", flush=True)
    for each in QUESTIONS:
        print(line(each, fresh[each], converted[each], shares.get(each)), flush=True)
    for staged in list_segments(layout.staging):
        Path(staged.path).unlink()


def staged_bytes(layout: Layout) -> int:
    return sum(each.stat().st_size for each in layout.staging.glob(f"*{SEGMENT_SUFFIX}"))


def line(name: str, fresh: Asked, converted: Asked, shares: Parts | None) -> str:
    ratios = fresh.first / converted.first, fresh.again / converted.again, fresh.other / converted.other
    written = "".join(f"{each:7.2f}" for each in ratios)
    return f"  {name:<9}{written}{fresh.first:8.1f} ms  {'' if shares is None else cells(fresh.first, shares)}".rstrip()


def cells(first: float, shares: Parts) -> str:
    rest = first - shares.snapshot - shares.reading - shares.decoding
    times = {"snapshot": shares.snapshot, "reading": shares.reading, "decoding": shares.decoding, "query": rest}
    return "  ".join(f"{what} {value / first:4.0%}" for what, value in times.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", nargs="+", type=int, default=[20_000, 100_000])
    parser.add_argument("--frames", nargs="+", type=int, default=[1000, 100, 1])
    parser.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("           first  again  other     first    of which")
    with world() as layout:
        for name in options.shapes:
            for events in options.events:
                for per_frame in options.frames:
                    if per_frame > 1 or events <= MOST_SINGLE:
                        run(layout, name, events, per_frame, options.rounds)


if __name__ == "__main__":
    main()
