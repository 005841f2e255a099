"""Runs every benchmark and writes docs/benchmarks.md: `python -m bench [--only NAME ...]`.

Each is a process of its own, one after the other, since they measure. What they print are ratios within a run.
"""

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
BENCHMARKS = {
    "ingest": "Durable ingestion over HTTP against its ceilings, one worker",
    "ingest --workers 2 --connections 32": "Durable ingestion over HTTP against its ceilings, two workers",
    "json_decode": "JSON decoding against the bare parser",
    "otlp_decode": "OTLP logs against a plain walk",
    "remote_write_decode": "Remote write against a dict per sample",
    "telemetry_http": "OTLP and remote write over HTTP until durable, against the decode alone",
    "ways_in": "An event at each way in, whole requests, against JSON",
    "storage": "Conversion, choice of files, unconverted rows and compaction, against the bare work",
    "lake": "Iceberg tables: publication and the catalog's answer at 10,000 files",
    "metrics_layout": "Samples sorted by series against samples sorted by time",
    "sql": "SQL against hand-written Polars and DuckDB",
    "promql": "PromQL beside a Prometheus of the same samples",
    "fresh": "The first query over rows that are not converted yet",
    "needle": "Thirteen questions and two joins over 2 and 20 million events, text indexes included",
    "indexing": "What text indexes cost ingestion",
    "query_service": "Queries over HTTP against the same in process",
    "postgresql_wire": "The PostgreSQL protocol against HTTP and against PostgreSQL",
    "alerts": "A thousand alerts beside ingestion at full load",
    "tail": "Live tails beside ingestion",
    "hosts": "What a second host costs a query",
    "meters": "What counting costs a request",
}
SECONDS = 900


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=sorted(BENCHMARKS), default=list(BENCHMARKS))
    chosen = parser.parse_args().only
    sections, failed = [], []
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        status, printed = run(name)
        sections.append(f"## {BENCHMARKS[name]}\n\n`python -m bench.{name}`\n\n```\n{printed.strip()}\n```\n")
        if status:
            failed.append(name)
    PAGE.write_text(head() + "\n" + "\n".join(sections), "utf-8")
    for name in failed:
        print(f"bench.{name} failed", file=sys.stderr)
    return 1 if failed else 0


def run(name: str) -> tuple[int, str]:
    """The benchmark's exit code and what it printed."""
    module, *arguments = name.split()
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 1, f"not done within {SECONDS} s"
    return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr[-2000:]


def head() -> str:
    load = os.getloadavg()[0]
    return (
        "# Benchmarks\n\n"
        "Written by `make bench`. Compare ratios within a section; absolute numbers are those of the machine.\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores of "
        f"{platform.machine()}, load average {load:.1f} at the end"
        f"{' (other programs were running: the numbers are too low)' if load > 2 * (os.cpu_count() or 1) else ''}.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
