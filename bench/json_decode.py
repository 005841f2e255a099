"""JSON decoding against the bare parser, in one run on one core: `python -m bench.json_decode [--seconds 0.5]`.

The ceiling is Polars' `read_json` with full inference plus unnest, with none of the rules that make it exact
(docs/decisions/json-decoding.md). A ratio above 1 is faster than the ceiling. The second table shows how long a
concurrent greenlet stands still while a body of the largest size is decoded off the hub.
"""

import argparse
import gc
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import gevent
import orjson
import polars as pl

from bench import load
from ingest.json.decoding import decode
from runtime import offload

LARGEST_BYTES = 16 * 1024 * 1024
MAKERS = {"flat": load.flat, "nested": load.nested}


def mixed(number: random.Random) -> dict[str, object]:
    """A nested event with lists, JSON and fields whose type changes."""
    event = load.nested(number)
    kind = number.randrange(3)
    code = (kind, str(kind), kind + 0.5)[kind]
    return event | {"tags": ["a", "b"], "steps": [{"n": 1}, {"n": kind}], "code": code, f"only_{kind}": True}


def varied(number: random.Random) -> dict[str, object]:
    """A flat event of one of five sets of keys."""
    event, kind = load.flat(number), number.randrange(5)
    return {key: value for place, (key, value) in enumerate(event.items()) if place < 7 or place % 5 != kind}


def bodies(count: int) -> dict[str, bytes]:
    """One body of `count` events for each kind and way of writing."""
    number = random.Random(1)
    events = {
        kind: [maker(number) for _ in range(count)]
        for kind, maker in (MAKERS | {"mixed": mixed, "varied": varied}).items()
    }
    written = {f"{kind}, array": orjson.dumps(listed) for kind, listed in events.items()}
    written["flat, array with spaces"] = json.dumps(events["flat"]).encode()
    written["flat, indented"] = orjson.dumps(events["flat"], option=orjson.OPT_INDENT_2)
    accented = [event | {"message": f"{event['message']} é"} for event in events["flat"]]
    written["flat, escaped letters"] = json.dumps(accented, separators=(",", ":")).encode()
    coarse = [event | {"latency_ms": _as_javascript(round(event["latency_ms"], 1))} for event in events["flat"]]
    written["flat, integers and floats"] = orjson.dumps(coarse)
    written["flat, lines"] = b"\n".join(map(orjson.dumps, events["flat"]))
    written["flat, concatenated"] = b"".join(map(orjson.dumps, events["flat"]))
    return written


def _as_javascript(value: float) -> float:
    """The value as an integer, if it is one."""
    return int(value) if value.is_integer() else value


def parse(body: bytes) -> pl.DataFrame:
    """The ceiling."""
    frame = pl.read_json(body, infer_schema_length=None)
    while structs := [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]:
        frame = frame.unnest(structs, separator="_")
    return frame


def microseconds(work: Callable[[bytes], object], body: bytes, seconds: float) -> float:
    """The best of as many runs as fit."""
    best, stop = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        work(body)
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def stall(work: Callable[[bytes], object], body: bytes) -> tuple[float, float]:
    """Milliseconds that `work` takes off the hub, and the longest that another greenlet waited meanwhile."""
    waits = [0.0]
    job = gevent.spawn(offload, work, body)
    start = before = time.perf_counter()
    while not job.ready():
        gevent.sleep(0.001)
        now = time.perf_counter()
        waits.append(now - before)
        before = now
    return (time.perf_counter() - start) * 1e3, max(waits) * 1e3


def compare(count: int, seconds: float) -> None:
    written = bodies(count)
    ceilings = {kind: microseconds(parse, written[f"{kind}, array"], seconds) for kind in MAKERS}
    for name, body in written.items():
        ceiling = ceilings.get(name.split(",")[0])
        took = microseconds(decode, body, seconds)
        ratio = f"{ceiling / took:6.2f}" if ceiling else "     -"
        print(f"{count:>6} {name:<26} {len(body) / 1e3:>9.1f} kB {took:>10.0f} us {ratio} of the ceiling")


def show_stalls(written: Mapping[str, bytes]) -> None:
    for name in ("flat, array", "nested, array", "flat, lines", "flat, concatenated", "mixed, array"):
        took, waited = stall(decode, written[name])
        print(
            f"{name:<26} {len(written[name]) / 1e6:>6.1f} MB decoded in {took:>5.0f} ms, longest stall {waited:.1f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    for count in (1, 100, 1000, 10_000):
        compare(count, arguments.seconds)
    sys.setswitchinterval(0.001)  # as wsgi.py does
    gc.freeze()
    show_stalls(bodies(LARGEST_BYTES // 450))


if __name__ == "__main__":
    main()
