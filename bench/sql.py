"""The SQL engine against hand-written Polars and DuckDB, on the same Parquet files: `python -m bench.sql`.

Prints, from one run: the time of each question on each side (best of several interleaved rounds), the geometric means
and the worst ratios, the time to parse and compile, and a 1-minute range out of 4 million rows. Ratios within a run are
what counts; the absolute times are those of the machine. DuckDB is left out when it is not installed.
"""

import argparse
import datetime as dt
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import polars as pl

from bench.sql_questions import QUESTIONS, START, Frames, Question
from query import engine, parse

FILES: Final = 12
DAYS: Final = 6
ROWS_PER_GROUP: Final = 50_000
RANGE_ROWS: Final = 4_000_000
NOW: Final = dt.datetime(2025, 1, 5, tzinfo=dt.UTC)
SERVICES: Final = ["checkout", "cart", "auth", "search", "billing", "gateway", "inventory"]
Run = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only questions whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-bench-sql-") as folder:
        directory = Path(folder)
        write_logs(directory / "logs", options.rows, FILES)
        write_services(directory / "services.parquet")
        compare(directory, [question for question in QUESTIONS if options.only in question.name], options.rounds)
        if not options.only:
            compiling(directory)
            short_range(directory, options.rounds)


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
    json_columns = {"logs": frozenset({"attributes"})}
    return {name: engine.Table(frame, json_columns.get(name, frozenset())) for name, frame in frames(directory).items()}


def answer(sql: str, directory: Path) -> pl.DataFrame:
    """Our engine, from the text to the rows."""
    compiled = engine.prepare(parse.parse(sql), tables(directory), now=NOW)
    return compiled.frame.collect(engine="streaming")


def compare(directory: Path, questions: Sequence[Question], rounds: int) -> None:
    duckdb = _duckdb(directory)
    to_polars, to_duckdb = {}, {}
    print(f"{'question':32}{'ours ms':>10}{'polars':>10}{'duckdb':>10}{'/polars':>9}{'/duckdb':>9}")
    for question in questions:
        runs = _runs(question, directory, duckdb)
        try:
            seconds = interleaved(runs, rounds)
        except Exception as error:  # One question that fails must not hide the others.
            print(f"{question.name:32}{type(error).__name__}: {str(error)[:90]}")
            continue
        _check(question, runs)
        to_polars[question.name] = seconds["ours"] / seconds["polars"]
        if "duckdb" in seconds:
            to_duckdb[question.name] = seconds["ours"] / seconds["duckdb"]
        print(_line(question.name, seconds))
    print(f"\nours / Polars: {_summary(to_polars)}\nours / DuckDB: {_summary(to_duckdb)}")


def _runs(question: Question, directory: Path, duckdb: Callable[[str], object] | None) -> dict[str, Run]:
    runs: dict[str, Run] = {
        "ours": lambda: answer(question.sql, directory),
        "polars": lambda: question.polars(frames(directory)).collect(engine="streaming"),
    }
    if duckdb is not None:
        runs["duckdb"] = lambda: duckdb(question.duckdb or question.sql)
    return runs


def _duckdb(directory: Path) -> Callable[[str], object] | None:
    """A runner over views of the same files; the answer becomes a frame, as ours is."""
    if find_spec("duckdb") is None:
        return None
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE VIEW logs AS SELECT * FROM read_parquet('{directory}/logs/*.parquet')")
    connection.execute(f"CREATE VIEW services AS SELECT * FROM read_parquet('{directory}/services.parquet')")
    return lambda sql: connection.sql(sql).pl()


def interleaved(runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """The best time of each in seconds; the sides take turns, so that a busy machine slows all of them."""
    best = dict.fromkeys(runs, math.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def _check(question: Question, runs: Mapping[str, Run]) -> None:
    """Both sides answer the same question: as many rows, or the comparison is void."""
    heights = {name: run().height for name, run in runs.items()}  # type: ignore[attr-defined]
    if len(set(heights.values())) > 1:
        print(f"  {question.name}: NOT the same answer, rows {heights}")


def _line(name: str, seconds: Mapping[str, float]) -> str:
    ours, polars, duckdb = (seconds.get(side, math.nan) for side in ("ours", "polars", "duckdb"))
    times = "".join(f"{1000 * side:10.1f}" for side in (ours, polars, duckdb))
    return f"{name:32}{times}{ours / polars:9.2f}{ours / duckdb:9.2f}"


def _summary(ratios: Mapping[str, float]) -> str:
    if not ratios:
        return "not measured"
    worst = sorted(ratios.items(), key=lambda pair: -pair[1])[:4]
    named = ", ".join(f"{name} {ratio:.2f}" for name, ratio in worst)
    return f"geometric mean {statistics.geometric_mean(ratios.values()):.2f} of {len(ratios)}; worst: {named}"


def compiling(directory: Path) -> None:
    """The time from the text to a lazy frame, over all questions."""
    loaded = tables(directory)
    times = []
    for question in QUESTIONS * 20:
        begin = time.perf_counter()
        try:
            engine.prepare(parse.parse(question.sql), loaded, now=NOW)
        except Exception:  # Named by `compare` already.
            continue
        times.append(time.perf_counter() - begin)
    if times:
        p50, p95 = (1000 * statistics.quantiles(times, n=100)[place] for place in (49, 94))
        print(f"parse and compile: median {p50:.2f} ms, p95 {p95:.2f} ms, of {len(times)}")


def short_range(directory: Path, rounds: int) -> None:
    """One minute out of RANGE_ROWS rows, against the filter an engineer would write."""
    write_logs(directory / "range", RANGE_ROWS, 1)
    sql = "SELECT * FROM logs WHERE p_timestamp >= '2024-12-31T10:00:00Z' AND p_timestamp < '2024-12-31T10:01:00Z'"
    start = dt.datetime(2024, 12, 31, 10, tzinfo=dt.UTC)
    wanted = (pl.col("p_timestamp") >= start) & (pl.col("p_timestamp") < start + dt.timedelta(minutes=1))

    def scan() -> pl.LazyFrame:
        return pl.scan_parquet(directory / "range" / "*.parquet")

    def ours() -> pl.DataFrame:
        loaded = {"logs": engine.Table(scan(), frozenset({"attributes"}))}
        return engine.prepare(parse.parse(sql), loaded, now=NOW).frame.collect(engine="streaming")

    runs: dict[str, Run] = {
        "ours": ours,
        "filter": lambda: scan().filter(wanted).collect(engine="streaming"),
        "all": lambda: scan().collect(engine="streaming"),
    }
    seconds = interleaved(runs, rounds)
    ratio = seconds["ours"] / seconds["filter"]
    shown = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in seconds.items())
    print(f"1 minute of {RANGE_ROWS:,} rows ({ours().height} rows): {shown}; ours / filter {ratio:.2f}")


if __name__ == "__main__":
    main()
