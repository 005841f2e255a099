"""What the tests of the fork server have its children do."""

import ctypes
import json
import os
import random
import signal
import sys
import time

import polars as pl


def _facts() -> dict[str, object]:
    return {
        "pid": os.getpid(),
        "server": os.getppid(),
        "arguments": sys.argv[1:],
        "descriptors": {each: os.readlink(f"/proc/self/fd/{each}") for each in open_descriptors()},
        "environment": dict(os.environ),
        "handlers": [str(signal.getsignal(each)) for each in (signal.SIGCHLD, signal.SIGTERM)],
        "random": random.random(),
        "shuffled": pl.arange(0, 100, eager=True).shuffle().to_list(),
    }


def open_descriptors() -> list[str]:
    listed = os.listdir("/proc/self/fd")
    return [each for each in listed if os.path.exists(f"/proc/self/fd/{each}")]


def _fault() -> None:
    ctypes.string_at(0)


def _query() -> int:
    frame = pl.LazyFrame({"n": range(1000)}).with_columns(text=pl.col("n").cast(pl.String))
    found = frame.group_by("text").agg(pl.col("n").sum()).sort("text").select(pl.col("n").sum())
    return int(found.collect(engine="streaming").item())


def _sort(rows: int) -> int:
    frame = pl.LazyFrame().select(n=pl.int_range(rows)).with_columns(key=pl.col("n").hash(), other=-pl.col("n"))
    found = frame.sort("key").select(pl.col("other").head(1000).sum(), rows=pl.len()).collect(engine="streaming")
    return int(found["rows"].item())


def main() -> None:
    match sys.argv[1:]:
        case ["tell", *_]:
            os.write(0, json.dumps(_facts()).encode())
        case ["query"]:
            os.write(0, str(_query()).encode())
        case ["sort", rows]:
            os.write(0, str(_sort(int(rows))).encode())
        case ["exit", code]:
            sys.exit(int(code))
        case ["die", number]:
            os.kill(os.getpid(), int(number))
        case ["fault"]:
            _fault()
        case ["raise"]:
            raise LookupError("an error of the child")
        case ["say", descriptor]:
            os.write(int(descriptor), b"said")
    if sys.argv[1] in ("tell", "wait"):
        time.sleep(600)
