"""Samples sorted by series against samples sorted by time, in one hour's file: `python -m bench.metrics_layout`.

960,000 samples: 4,000 series of 100 metrics, each 15 s. Prints, from one run, the size of the file, the processor time
to bring the rows into order and to write them, and that of questions: of one metric, as a PromQL selector asks, and
of SQL statements. The sides take turns; the numbers are the least of the rounds, since they are processor time.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from columns import POLARS_TYPES, ColumnType
from models.column import Column, Schema
from models.dataset import Dataset
from models.file import File
from query import engine
from query.syntax import parse
from storage.context import Layout
from storage.files import parquet
from storage.read.scan import scan, scan_series
from storage.read.snapshot import Snapshot

METRICS: Final = 100
SERIES: Final = 40
SAMPLES: Final = 240
STEP_NS: Final = 15 * 10**9
NOW: Final = datetime(2025, 11, 20, 2, tzinfo=UTC)
START_NS: Final = 1_763_600_400 * 10**9
LABELS: Final = ("cluster", "code", "instance", "job", "pod", "region")
TYPES: Final = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "metric_name": ColumnType.UTF8,
    "metric_type": ColumnType.UTF8,
    "time_unix_nano": ColumnType.TIMESTAMP_NS,
    "data_point_value": ColumnType.FLOAT64,
    "is_stale": ColumnType.BOOL,
} | dict.fromkeys(LABELS, ColumnType.UTF8)
SCHEMA: Final = Schema(1, tuple(Column(name, kind, id=number) for number, (name, kind) in enumerate(TYPES.items(), 1)))
STATEMENTS: Final = {
    "count": "SELECT count(*) FROM m",
    "avg by metric": "SELECT metric_name, avg(data_point_value) FROM m GROUP BY 1",
    "one metric": "SELECT job, max(data_point_value) FROM m WHERE metric_name = 'app_requests_042_total' GROUP BY 1",
    "one job": "SELECT metric_name, count(*) FROM m WHERE job = 'job-1' GROUP BY 1",
    "five minutes": "SELECT count(data_point_value) FROM m WHERE time_unix_nano >= '2025-11-20 01:30:00Z'"
    " AND time_unix_nano < '2025-11-20 01:35:00Z'",
    "latest of each": "SELECT DISTINCT ON (metric_name, instance) metric_name, instance, data_point_value FROM m"
    " ORDER BY metric_name, instance, time_unix_nano DESC",
    "newest rows": "SELECT metric_name, data_point_value FROM m ORDER BY time_unix_nano DESC LIMIT 100",
    "by minute": "SELECT date_trunc('minute', time_unix_nano) AS t, sum(data_point_value) FROM m GROUP BY 1 ORDER BY 1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    rows = samples()
    with tempfile.TemporaryDirectory() as directory:
        sides = {kind: Side(Path(directory), rows, kind) for kind in ("logs", "metrics")}
        report("order and write, s", {kind: side.write for kind, side in sides.items()}, 3, 1.0)
        print(f"{'bytes a sample':24}" + "".join(f"{side.file.bytes / rows.height:10.2f}" for side in sides.values()))
        report("one metric, selected, ms", {kind: side.select for kind, side in sides.items()}, rounds)
        for name, sql in STATEMENTS.items():
            check(sql, sides.values())
            report(f"{name}, ms", {kind: side.answering(sql) for kind, side in sides.items()}, rounds)


class Side:
    """One file of the samples, of a dataset of that telemetry type: logs are sorted by time."""

    def __init__(self, directory: Path, rows: pl.DataFrame, kind: str) -> None:
        self._layout = Layout(directory)
        self._rows = rows
        self._target = Dataset(1, "default", kind, "time_unix_nano", None, False, kind, NOW)
        self.file = self.write()
        self._snapshot = Snapshot(str(directory), SCHEMA, "time_unix_nano", None, None, (self.file,), ())
        self._scan = scan_series if kind == "metrics" else scan

    def write(self) -> File:
        origin = parquet.Origin(self._target, SCHEMA)
        return parquet.write(self._layout, f"default/{self._target.name}/hour=01", self._rows, origin)

    def select(self) -> pl.DataFrame:
        """What a selector of PromQL reads."""
        chosen = (pl.col("metric_name") == "app_requests_042_total") & (pl.col("job") == "job-1")
        rows = self._scan(self._snapshot).filter(chosen)
        return rows.select("time_unix_nano", "data_point_value", "is_stale", *LABELS).collect(engine="streaming")

    def answering(self, sql: str) -> Callable[[], pl.DataFrame]:
        known = {"m": engine.schema_of([(name, POLARS_TYPES[kind]) for name, kind in TYPES.items()], frozenset())}

        def answer() -> pl.DataFrame:
            statement = parse.parse(sql)
            tables = {"m": engine.Table(scan(self._snapshot), frozenset())}
            compiled = engine.lower_statement(statement, engine.bind_statement(statement, known, NOW), tables)
            return compiled.frame.collect(engine="streaming")

        return answer


def samples() -> pl.DataFrame:
    """In the order in which they come: scrape by scrape."""
    number = pl.int_range(pl.len())
    series, metric = number % (METRICS * SERIES) % SERIES, number % (METRICS * SERIES) // SERIES
    scrape = number // (METRICS * SERIES)
    times = START_NS + scrape * STEP_NS + series * 350_000_000
    return (
        pl.LazyFrame({"n": range(METRICS * SERIES * SAMPLES)})
        .select(
            p_timestamp=(times // 1000 + 300_000).cast(POLARS_TYPES[ColumnType.TIMESTAMP_US]),
            metric_name=pl.format("app_requests_{}_total", metric.cast(pl.String).str.pad_start(3, "0")),
            metric_type=pl.lit("unknown"),
            time_unix_nano=times.cast(POLARS_TYPES[ColumnType.TIMESTAMP_NS]),
            data_point_value=scrape * (number % (METRICS * SERIES) * 2_654_435_761 % 99_991 / 1000),
            is_stale=pl.lit(False),
            cluster=pl.lit("prod"),
            code=pl.format("{}", series % 3),
            instance=pl.format("10.0.0.{}:9100", series),
            job=pl.format("job-{}", series % 4),
            pod=pl.format("web-6d8f7c9b5-{}", series),
            region=pl.lit("eu-1"),
        )
        .collect()
    )


def check(sql: str, sides: "Iterable[Side]") -> None:
    """Raises ValueError if the sides do not answer the same number of rows."""
    heights = {side.answering(sql)().height for side in sides}
    if len(heights) > 1:
        raise ValueError(f"{sql}: {heights}")


def report(name: str, runs: Mapping[str, Callable[[], object]], rounds: int, factor: float = 1000.0) -> None:
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for kind, run in runs.items():
            begin = time.process_time()
            run()
            best[kind] = min(best[kind], factor * (time.process_time() - begin))
    by_time, by_series = best["logs"], best["metrics"]
    print(f"{name:24}{by_time:10.2f}{by_series:10.2f}   by series / by time: {by_series / by_time:.2f}", flush=True)


if __name__ == "__main__":
    main()
