"""What a request body costs before anything is stored, by class of attack: memory and processor time per decoded byte.

    python -m bench.body_cost [class ...]

Each body is taken at a size and at four times that size, each in a process of its own. `growth` is the processor time
of the larger over four times that of the smaller: 1 is linear. A refused body counts what it took to refuse it.
"""

import gzip
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import cramjam

from errors import WeirError
from ingest.json import decoding
from ingest.otlp import logs
from ingest.otlp.costs import json_estimate
from web import content_codings
from web.inflight import Inflight

BYTES: Final = 4 * 1024 * 1024
STEPS: Final = (1, 4)
LIMIT: Final = 64 * 1024 * 1024
INFLIGHT_BYTES: Final = 256 * 1024 * 1024


class Case(NamedTuple):
    """`make` gives the body for so many decoded bytes, `take` is what a worker does with it."""

    make: Callable[[int], bytes]
    take: Callable[[bytes], object]


def _json(make: Callable[[int], bytes]) -> Case:
    return Case(make, lambda body: decoding.decode(body, max_columns=1000))


def _otlp_json(make: Callable[[int], bytes]) -> Case:
    """As the pipeline does it: what would take too much is refused before it is parsed."""

    def take(body: bytes) -> object:
        with Inflight(INFLIGHT_BYTES).decoding(body, json_estimate(body)):
            return logs.decode(body, "application/json")

    return Case(make, take)


def _coded(name: str, make: Callable[[int], bytes]) -> Case:
    return Case(make, lambda body: content_codings.decode(body, (name,), LIMIT))


def _repeated(piece: bytes, between: bytes = b",") -> Callable[[int], bytes]:
    return lambda size: b"[" + between.join([piece] * (size // (len(piece) + len(between)))) + b"]"


def _deep(size: int) -> bytes:
    """Events of lists within lists, 200 levels each."""
    return _repeated(b'{"a":' + b"[" * 200 + b"1" + b"]" * 200 + b"}")(size)


def _many_keys(size: int) -> bytes:
    event = json.dumps({f"key_{number:04}": number for number in range(900)}, separators=(",", ":")).encode()
    return _repeated(event)(size)


def _members(size: int) -> bytes:
    """9,990 empty members, and then the data: quadratic where each member copies the rest."""
    return gzip.compress(b"") * 9_990 + gzip.compress(b"x" * size, 1)


def _records(size: int) -> bytes:
    records = b",".join([b"{}"] * (size // 3))
    return b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + records + b"]}]}]}"


def _attributes(size: int) -> bytes:
    """Records as they are: 20 attributes each."""
    pair = b'{"key":"attribute","value":{"stringValue":"value"}}'
    record = b'{"timeUnixNano":"1795305592000000000","attributes":[' + b",".join([pair] * 20) + b"]}"
    records = b",".join([record] * (size // len(record)))
    return b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[' + records + b"]}]}]}"


def _zstd_frames(size: int) -> bytes:
    """Frames of one byte each."""
    return bytes(cramjam.zstd.compress(b"x")) * (size // 16)


CASES: Final = {
    "json [{},{},...]": _json(_repeated(b"{}")),
    'json [{"a":1},...]': _json(_repeated(b'{"a":1}')),
    "json lines": _json(lambda size: b'{"a":1}\n' * (size // 8)),
    "json 1,2,3 in one list": _json(lambda size: b'{"a":[' + b",".join([b"1"] * (size // 2)) + b"]}"),
    "json lists of 200 levels": _json(_deep),
    "json 900 keys an event": _json(_many_keys),
    "json one long text": _json(lambda size: b'{"a":"' + b"x" * size + b'"}'),
    "otlp json empty records": _otlp_json(_records),
    "otlp json records of attributes": _otlp_json(_attributes),
    "gzip one member": _coded("gzip", lambda size: gzip.compress(b"x" * size, 1)),
    "gzip 9,990 members": _coded("gzip", _members),
    "deflate": _coded("deflate", lambda size: zlib.compress(b"x" * size, 1)),
    "zstd one frame": _coded("zstd", lambda size: bytes(cramjam.zstd.compress(b"x" * size))),
    "zstd frames of one byte": _coded("zstd", _zstd_frames),
    "snappy": _coded("snappy", lambda size: bytes(cramjam.snappy.compress_raw(b"x" * size))),
}


def measure(name: str, size: int) -> None:
    """Print the seconds, the bytes of memory beyond those before, and whether the body was refused."""
    case = CASES[name]
    body = case.make(size)
    case.take(case.make(1000))
    before = _reset_peak()
    started, refused = time.process_time(), ""
    try:
        case.take(body)
    except WeirError as error:
        refused = error.code
    seconds = time.process_time() - started
    print(json.dumps({"seconds": seconds, "bytes": _memory("VmHWM") - before, "refused": refused}))


def _reset_peak() -> int:
    """Resident bytes now, from which the peak is counted anew (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def measured(name: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.body_cost", "--one", name, str(size)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300, cwd=Path(__file__).parent.parent)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main(names: list[str]) -> None:
    print("| body | us a byte | growth | memory a byte | refused |\n|---|---|---|---|---|")
    for name in names or CASES:
        small, large = (measured(name, BYTES * step) for step in STEPS)
        growth = large["seconds"] / (STEPS[1] * max(small["seconds"], 1e-4))
        size = BYTES * STEPS[1]
        memory, cost = large["bytes"] / size, 1e6 * large["seconds"] / size
        print(f"| {name} | {cost:.3f} | {growth:.1f} | {memory:.1f} | {large['refused']} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        main(sys.argv[1:])
