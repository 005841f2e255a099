"""Statements through Weir on a cluster against Spark SQL written by hand: `python -m bench.cluster sc://host:port`.

Both read the same Parquet files in the same run, by turns. Prints the median seconds of each and their ratio. Weir's
include binding, placing, a session of its own with its watch, and what is left to do here; those by hand have one
session for all statements. The server has to see the temporary directory.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from columns import ColumnType
from models.column import Column, Schema
from models.file import File
from query import engine
from query.plan.tree import Field
from query.spark import messages
from query.spark.connection import Cluster, answer
from query.spark.inputs import Input
from query.spark.placement import place
from query.spark.session import Session
from query.syntax import parse
from storage.files.file_schema import FORMAT
from storage.read.snapshot import Snapshot
from storage.read.unconverted_rows import UnconvertedRows

TIMEOUT_SECONDS: Final = 120.0
START_US: Final = 1_767_225_600_000_000
FILES: Final = 10
COLUMNS: Final = {
    "p_timestamp": ColumnType.TIMESTAMP_US,
    "level": ColumnType.UTF8,
    "status": ColumnType.INT64,
    "latency": ColumnType.FLOAT64,
    "path": ColumnType.UTF8,
}
# Weir's statement, and what somebody would write for it in Spark SQL over {files}.
STATEMENTS: Final = {
    "groups of a text": (
        "SELECT level, count(*) AS n, sum(status) AS s, avg(latency) AS a FROM app GROUP BY level",
        "SELECT level, count(*) AS n, sum(status) AS s, avg(latency) AS a FROM {files} GROUP BY level",
    ),
    "minutes": (
        "SELECT date_trunc('minute', p_timestamp) AS m, count(*) AS n, max(latency) AS x FROM app GROUP BY 1",
        "SELECT date_trunc('minute', p_timestamp) AS m, count(*) AS n, max(latency) AS x FROM {files} GROUP BY 1",
    ),
    "pattern": (
        "SELECT count(*) AS n FROM app WHERE path LIKE '/api/%7' AND latency > 50",
        "SELECT count(*) AS n FROM {files} WHERE path LIKE '/api/%7' AND latency > 50",
    ),
    "most frequent": (
        "SELECT path, count(*) AS n FROM app GROUP BY 1 ORDER BY n DESC, path LIMIT 10",
        "SELECT path, count(*) AS n FROM {files} GROUP BY 1 ORDER BY n DESC, path LIMIT 10",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        files = [_file(Path(directory), number, arguments.rows // FILES) for number in range(FILES)]
        measure(arguments.url, Path(directory), files, arguments.rounds)


def _file(root: Path, number: int, height: int) -> File:
    row = pl.int_range(number * height, (number + 1) * height, eager=True)
    frame = pl.DataFrame(
        {
            "p_timestamp": (START_US + row * 1_000).cast(pl.Datetime("us", "UTC")),
            "level": (row % 5).replace_strict({0: "debug", 1: "info", 2: "info", 3: "warn", 4: "error"}),
            "status": 200 + row % 7 * 50,
            "latency": (row.hash(1) % 100_000) / 997,
            "path": "/api/" + (row.hash(2) % 5_000).cast(pl.String()),
        }
    )
    path = root / f"{number}.parquet"
    frame.write_parquet(path, compression="zstd")
    first = (START_US + number * height * 1_000) * 1_000
    return File(path.name, 1, first, first + height * 1_000_000, height, path.stat().st_size, format=FORMAT)


def measure(url: str, root: Path, files: Sequence[File], rounds: int) -> None:
    schema = Schema(1, tuple(Column(name, kind) for name, kind in COLUMNS.items()))
    snapshot = Snapshot(str(root), schema, "p_timestamp", None, None, tuple(files), ())
    by_hand = Session(url, TIMEOUT_SECONDS)
    try:
        for name, (ours, theirs) in STATEMENTS.items():
            text = theirs.format(files=f"parquet.`file://{root}`")
            weir, spark = _by_turns(
                lambda ours=ours: _through_weir(url, snapshot, ours),
                lambda text=text: answer(by_hand, messages.proto().Relation(sql=messages.proto().SQL(query=text))),
                rounds,
            )
            print(f"{name:20}{weir:8.2f} s{spark:8.2f} s{weir / spark:8.2f}", flush=True)
    finally:
        by_hand.close()


def _by_turns(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float]:
    first(), second()
    taken = [(_seconds(first), _seconds(second)) for _ in range(rounds)]
    return statistics.median(each for each, _ in taken), statistics.median(each for _, each in taken)


def _seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _through_weir(url: str, snapshot: Snapshot, sql: str) -> pl.DataFrame:
    source = pl.scan_parquet(f"{snapshot.root}/{snapshot.files[0].path}")
    statement = parse.parse(sql)
    bound = engine.bind_statement(statement, {"app": engine.table_schema(engine.Table(source))}, datetime.now(UTC))

    def rows(_: str, wanted: Sequence[tuple[str, Field]]) -> Any:
        return Input(snapshot, UnconvertedRows()).rows(wanted)

    placed = place(bound.relation, bound.outputs, rows)
    cluster = Cluster(url, TIMEOUT_SECONDS)
    parts = {each.name: engine.Table(each.frame(cluster.rows(each.plan))) for each in placed.parts}
    return engine.lower_statement(statement, replace(bound, relation=placed.relation), parts).frame.collect()


if __name__ == "__main__":
    main()
