"""The SQL engine against hand-written Polars and DuckDB, on the same Parquet files: `python -m bench.sql`.

Prints, from one run and for each number of rows: the time of each question on each side (medians of interleaved
rounds), and the ratio of ours to the others, which is the median of the rounds' ratios: neighbours in time share what
else the machine does. Then the time to parse and compile, and a 1-minute range out of 4 million rows. Statements are
parsed and compiled anew in each round; schemas are known beforehand, as the service has them from its manifests. The
answers have to be equal, or the run fails. DuckDB is left out when it is not installed.
"""

import argparse
import datetime as dt
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import polars as pl
from polars.testing import assert_frame_equal

from bench.sql_questions import QUESTIONS, START, Frames, Question
from query import engine
from query.plan.environment import Schema
from query.syntax import parse

FILES: Final = 12
DAYS: Final = 6
ROWS_PER_GROUP: Final = 50_000
RANGE_ROWS: Final = 4_000_000
NOW: Final = dt.datetime(2025, 1, 5, tzinfo=dt.UTC)
RATIOS: Final = ("/ polars", "/ polars cpu", "/ duckdb")
JSON_COLUMNS: Final = {"logs": frozenset({"attributes"})}
SERVICES: Final = ["checkout", "cart", "auth", "search", "billing", "gateway", "inventory"]
Run = Callable[[], pl.DataFrame]
Clocks = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """One side's rounds: elapsed seconds, and the processor time of the whole process."""

    elapsed: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def add(self, begin: Clocks, end: Clocks) -> None:
        """One more round, by what the clocks showed before and after it."""
        self.elapsed.append(end[0] - begin[0])
        self.processor.append(end[1] - begin[1])

    @property
    def typical(self) -> float:
        """Elapsed seconds, the median of the rounds."""
        return statistics.median(self.elapsed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[4_000_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="only questions whose name contains this")
    options = parser.parse_args()
    questions = [question for question in QUESTIONS if options.only in question.name]
    with tempfile.TemporaryDirectory(prefix="weir-bench-sql-") as folder:
        for rows in options.rows:
            directory = Path(folder) / str(rows)
            directory.mkdir()
            write_logs(directory / "logs", rows, FILES)
            write_services(directory / "services.parquet")
            print(f"{rows:,} rows in {FILES} files")
            compare(directory, questions, options.rounds)
        if not options.only:
            compiling(directory)
            short_range(Path(folder), options.rounds)


def write_logs(folder: Path, rows: int, files: int) -> None:
    """Time-sorted log files with row-group statistics, as maintenance leaves them."""
    folder.mkdir()
    begin = START - dt.timedelta(days=1)
    step = dt.timedelta(days=DAYS) / rows
    for number in range(files):
        first, last = rows * number // files, rows * (number + 1) // files
        frame = _logs(first, last, begin, step).collect()
        frame.write_parquet(folder / f"{number:03}.parquet", row_group_size=ROWS_PER_GROUP, compression="zstd")


def _logs(first: int, last: int, begin: dt.datetime, step: dt.timedelta) -> pl.LazyFrame:
    """Rows `first` to `last` of the log, every column a function of the row's number."""
    microseconds = step // dt.timedelta(microseconds=1)
    row = pl.col("row")
    noise = row.hash(7)
    return pl.LazyFrame({"row": range(first, last)}, schema={"row": pl.Int64}).select(
        p_timestamp=(pl.lit(begin).dt.cast_time_unit("us") + pl.duration(microseconds=row * microseconds)),
        level=_pick(noise, ["DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR", "ERROR", "FATAL"]),
        service=_pick(noise // 8, SERVICES),
        region=_pick(noise // 64, ["eu", "us", "ap", None]),
        host=pl.format("host-{}", noise // 512 % 200),
        status=(_pick(noise // 1024, [200, 200, 200, 201, 301, 400, 404, 500])).cast(pl.Int64),
        latency=pl.when(noise % 20 != 0).then((noise // 4096 % 1_000_000).cast(pl.Float64) / 1000),
        bytes=(noise // 32_768 % 10_000_000).cast(pl.Int64),
        user_id=pl.when(noise % 3 != 0).then(pl.format("u{}", noise // 131_072 % 20_000)),
        message=_message(noise),
        attributes=pl.concat_str(
            pl.lit('{"route": "/v1/items/'), noise % 50, pl.lit('", "retry": '), noise % 4, pl.lit("}")
        ),
    )


def _pick(noise: pl.Expr, values: Sequence[str | int | None]) -> pl.Expr:
    place = (noise % len(values)).cast(pl.Int32)
    return place.replace_strict(dict(enumerate(values)))


def _message(noise: pl.Expr) -> pl.Expr:
    return (
        pl.when(noise % 5 < 2)
        .then(pl.format("GET /api/v1/items/{} took {}ms", noise % 5000, noise // 7 % 3000))
        .when(noise % 5 == 2)
        .then(pl.format("timeout after {} ms calling billing", noise // 11 % 9000))
        .when(noise % 5 == 3)
        .then(pl.format("Payment FAILED for order {}", noise % 100_000))
        .otherwise(pl.format("user u{} logged in", noise % 20_000))
    )


def write_services(path: Path) -> None:
    teams = ["pay", "pay", "sec", "find", None, "edge"]
    pl.DataFrame({"service": SERVICES[:6], "team": teams}).write_parquet(path)


def frames(directory: Path) -> Frames:
    """Fresh scans: nothing is remembered from a run before."""
    return {
        "logs": pl.scan_parquet(directory / "logs" / "*.parquet"),
        "services": pl.scan_parquet(directory / "services.parquet"),
    }


def tables(directory: Path) -> Mapping[str, engine.Table]:
    return {name: engine.Table(frame, JSON_COLUMNS.get(name, frozenset())) for name, frame in frames(directory).items()}


def schemas(directory: Path) -> Mapping[str, Schema]:
    """What a manifest tells of the datasets' columns."""
    columns = {name: frame.collect_schema().items() for name, frame in frames(directory).items()}
    return {name: engine.schema_of(found, JSON_COLUMNS.get(name, frozenset())) for name, found in columns.items()}


def answer(sql: str, directory: Path, known: Mapping[str, Schema]) -> pl.DataFrame:
    """Our engine, from the text to the rows."""
    statement = parse.parse(sql)
    compiled = engine.lower_statement(statement, engine.bind_statement(statement, known, NOW), tables(directory))
    return compiled.frame.collect(engine="streaming")


def compare(directory: Path, questions: Sequence[Question], rounds: int) -> None:
    duckdb = _duckdb(directory)
    found: dict[str, dict[str, float]] = {heading: {} for heading in RATIOS}
    print(f"{'question':30}{'ours ms':>9}{'polars':>9}{'duckdb':>9}" + "".join(f"{heading:>13}" for heading in RATIOS))
    for question in questions:
        runs = _runs(question, directory, duckdb)
        _check(question, runs)
        measured = interleaved(runs, rounds)
        for heading, ratio in _ratios(measured).items():
            found[heading][question.name] = ratio
        print(_line(question.name, measured))
    for heading, ratios in found.items():
        print(f"ours {heading}: {_summary(ratios)}")


def _runs(question: Question, directory: Path, duckdb: Callable[[str], pl.DataFrame] | None) -> dict[str, Run]:
    known = schemas(directory)
    runs: dict[str, Run] = {
        "ours": lambda: answer(question.sql, directory, known),
        "polars": lambda: question.polars(frames(directory)).collect(engine="streaming"),
    }
    if duckdb is not None:
        runs["duckdb"] = lambda: duckdb(question.duckdb or question.sql)
    return runs


def _duckdb(directory: Path) -> Callable[[str], pl.DataFrame] | None:
    """A runner over views of the same files; the answer becomes a frame, as ours is."""
    if find_spec("duckdb") is None:
        return None
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE VIEW logs AS SELECT * FROM read_parquet('{directory}/logs/*.parquet')")
    connection.execute(f"CREATE VIEW services AS SELECT * FROM read_parquet('{directory}/services.parquet')")
    return lambda sql: connection.sql(sql).pl()


def interleaved(runs: Mapping[str, Run], rounds: int) -> dict[str, Measured]:
    """The sides take turns, each time another one first."""
    measured = {name: Measured() for name in runs}
    names = list(runs)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            begin = _clocks()
            runs[name]()
            measured[name].add(begin, _clocks())
    return measured


def _clocks() -> Clocks:
    return time.perf_counter(), time.process_time()


def _check(question: Question, runs: Mapping[str, Run]) -> None:
    """The answers are the same, with the same types, or the comparison is void. Only numeric, which is exact with us,
    may be a float or an integer in Polars; of DuckDB, whose types are others, the rows are counted."""
    answers = {name: run() for name, run in runs.items()}
    ours, polars = (answers[side].with_columns(_plain(answers["ours"])) for side in ("ours", "polars"))
    assert_frame_equal(ours, polars, check_row_order=False)
    if any(found.height != ours.height for found in answers.values()):
        raise ValueError(f"{question.name}: rows { ({name: found.height for name, found in answers.items()}) }")


def _plain(ours: pl.DataFrame) -> list[pl.Expr]:
    """Our columns of type numeric as floats."""
    return [pl.col(name).cast(pl.Float64) for name, dtype in ours.schema.items() if dtype == pl.Decimal]


def _ratios(measured: Mapping[str, Measured]) -> dict[str, float]:
    ours, polars, duckdb = (measured.get(side, Measured()) for side in ("ours", "polars", "duckdb"))
    sides = ((ours.elapsed, polars.elapsed), (ours.processor, polars.processor), (ours.elapsed, duckdb.elapsed))
    return {
        heading: statistics.median(a / b for a, b in zip(*pair, strict=True))
        for heading, pair in zip(RATIOS, sides, strict=True)
        if pair[1]
    }


def _line(name: str, measured: Mapping[str, Measured]) -> str:
    times = "".join(f"{1000 * side.typical:9.1f}" for side in measured.values())
    ratios = _ratios(measured)
    missing = 9 * (3 - len(measured)) * " "
    return f"{name:30}{times}{missing}" + "".join(f"{ratios.get(heading, math.nan):13.2f}" for heading in RATIOS)


def _summary(ratios: Mapping[str, float]) -> str:
    if not ratios:
        return "not measured"
    worst = sorted(ratios.items(), key=lambda pair: -pair[1])[:4]
    named = ", ".join(f"{name} {ratio:.2f}" for name, ratio in worst)
    return f"geometric mean {statistics.geometric_mean(ratios.values()):.2f} of {len(ratios)}; worst: {named}"


def compiling(directory: Path) -> None:
    """The time from the text to a lazy frame over all questions, and that of a statement that is parsed already."""
    loaded, known = tables(directory), schemas(directory)
    first, again = Measured(), Measured()
    for question in QUESTIONS * 20:
        begin = _clocks()
        statement = parse.parse(question.sql)
        parsed = _clocks()
        engine.lower_statement(statement, engine.bind_statement(statement, known, NOW), loaded)
        end = _clocks()
        first.add(begin, end)
        again.add(parsed, end)
    for name, side in (("parse and compile", first), ("compile what was parsed before", again)):
        parts = [f"{name}, of {len(side.elapsed)}:"]
        for clock, seconds in (("elapsed", side.elapsed), ("cpu", side.processor)):
            p50, p95 = (1000 * statistics.quantiles(seconds, n=100)[place] for place in (49, 94))
            parts.append(f"{clock} median {p50:.2f} ms, p95 {p95:.2f} ms")
        print(" ".join(parts))


def short_range(directory: Path, rounds: int) -> None:
    """One minute out of RANGE_ROWS rows, against the filter an engineer would write."""
    write_logs(directory / "range", RANGE_ROWS, 1)
    sql = "SELECT * FROM logs WHERE p_timestamp >= '2024-12-31T10:00:00Z' AND p_timestamp < '2024-12-31T10:01:00Z'"
    start = dt.datetime(2024, 12, 31, 10, tzinfo=dt.UTC)
    wanted = (pl.col("p_timestamp") >= start) & (pl.col("p_timestamp") < start + dt.timedelta(minutes=1))

    def scan() -> pl.LazyFrame:
        return pl.scan_parquet(directory / "range" / "*.parquet")

    def ours() -> pl.DataFrame:
        statement, loaded = parse.parse(sql), {"logs": engine.Table(scan(), JSON_COLUMNS["logs"])}
        query = engine.bind_statement(statement, known, NOW)
        return engine.lower_statement(statement, query, loaded).frame.collect(engine="streaming")

    known = {"logs": engine.schema_of(scan().collect_schema().items(), JSON_COLUMNS["logs"])}
    runs: dict[str, Run] = {
        "ours": ours,
        "filter": lambda: scan().filter(wanted).collect(engine="streaming"),
        "all": lambda: scan().collect(engine="streaming"),
    }
    measured = interleaved(runs, rounds)
    pairs = zip(measured["ours"].elapsed, measured["filter"].elapsed, strict=True)
    ratio = statistics.median(a / b for a, b in pairs)
    shown = ", ".join(f"{name} {1000 * side.typical:.1f} ms" for name, side in measured.items())
    print(f"1 minute of {RANGE_ROWS:,} rows ({ours().height} rows): {shown}; ours / filter {ratio:.2f}")


if __name__ == "__main__":
    main()
