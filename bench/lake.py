"""Publication of Iceberg tables and the catalog's answer, at 10,000 files: `python -m bench.lake`.

Prints, from one run, in processor time of the process: the first publication of all files, that of one file more, of
a compaction, and of a day that is past; and the time of the catalog's answer, within the process. The files are rows of
the manifest with statistics of 16 columns; nothing reads them.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import orjson

from columns import ColumnType, Field
from embedded_postgres import server
from models import column, dataset, file
from models.base import bind, connection, database, migrate
from models.values.dataset import Dataset
from models.values.file import HOUR_NS, Bounds, File
from storage.context import Layout
from storage.files.file_schema import FORMAT
from storage.lake.catalog import load
from storage.lake.publication import publish

COLUMNS: Final = 13
GRACE_SECONDS: Final = 360.0
FILES_AN_HOUR: Final = 14


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    count = parser.parse_args().files
    with tempfile.TemporaryDirectory() as directory:
        bind(server.ensure_running(Path(directory)))
        try:
            migrate()
            with connection():
                measure(Layout(Path(directory)), count)
        finally:
            database.close_all()
            server.stop(Path(directory))


def measure(layout: Layout, count: int) -> None:
    target = dataset.create("default", "app", fields=[_field(number) for number in range(COLUMNS)])
    now = datetime.now(UTC)
    this_hour = int(now.timestamp()) // 3600
    file.insert([_file(target, number, this_hour - number // FILES_AN_HOUR) for number in range(count)], now)
    print(f"{count} files of {len(column.schema(target.id).columns)} columns; processor time, and elapsed, in ms")
    report("first publication", lambda: publish(layout, target.id, GRACE_SECONDS), 1)
    numbers = iter(range(count, 10 * count))
    for name, hour in (("one file more, now", this_hour), ("one file more, a past day", this_hour - 100)):

        def once(hour: int = hour) -> None:
            file.insert([_file(target, next(numbers), hour)], now)
            publish(layout, target.id, GRACE_SECONDS)

        report(name, once, 9)

    old = file.find(target.id, this_hour * HOUR_NS, None)[:8]

    def compact() -> None:
        merged = _file(target, next(numbers), this_hour, rows=sum(each.rows for each in old))
        file.replace(old, [merged], now)
        publish(layout, target.id, GRACE_SECONDS)

    report("a compaction", compact, 1)
    report("load table", lambda: orjson.dumps(load(layout, target, now + timedelta(1)).metadata), 9)  # type: ignore[union-attr]


def report(name: str, run: Callable[[], object], rounds: int) -> None:
    processor, elapsed = [], []
    for _ in range(rounds):
        begin, clock = time.process_time(), time.perf_counter()
        run()
        processor.append(1000 * (time.process_time() - begin))
        elapsed.append(1000 * (time.perf_counter() - clock))
    print(f"{name:28}{statistics.median(processor):10.1f}{statistics.median(elapsed):10.1f}", flush=True)


def _field(number: int) -> Field:
    return Field(f"c{number}", ColumnType.UTF8 if number % 2 else ColumnType.FLOAT64)


def _file(target: Dataset, number: int, hour: int, rows: int = 100) -> File:
    tmin = hour * HOUR_NS + number % 3000 * 10**9
    stats: dict[str, Bounds] = {"p_timestamp": (tmin // 1000, tmin // 1000 + 10**6, 0)}
    stats |= {f"c{each}": ("v0", "v99", 0) if each % 2 else (0.5, 99.5, 0) for each in range(COLUMNS)}
    path = f"default/app/date=2026-01-01/hour=00/{number:026}.parquet"
    return File(path, target.id, tmin, tmin + 10**9, rows, 10_000, 5_000, format=FORMAT, stats=stats)


if __name__ == "__main__":
    main()
