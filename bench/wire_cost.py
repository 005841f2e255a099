"""Memory and processor time per protobuf message, against what `Shape.estimate` says; each in its own process.

    python -m bench.wire_cost

`counted` is the share of the decoding that counting takes; `charged` is the estimate against the memory measured.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from ingest.loki import decoding as loki
from ingest.loki.decoding import COST as LOKI
from ingest.otlp import costs, logs, metrics, traces
from ingest.remote_write.costs import VERSION_1, VERSION_2
from ingest.remote_write.decoding import Version, decode_plainly
from ingest.wire_cost import Shape

MESSAGES: Final = 50_000
LIMIT: Final = 1 << 40
_PROTOBUF: Final = "application/x-protobuf"
_LABEL: Final = b"\x0a\x06\x0a\x01a\x12\x01b"


class Case(NamedTuple):
    """A message that repeats, and the tags of what it stands in, the outermost first."""

    shape: Shape
    decode: Callable[[bytes], object]
    message: bytes
    within: bytes = b""
    before: bytes = b""


def _logs(message: bytes, within: bytes) -> Case:
    return Case(costs.LOGS, lambda body: logs.decode(body, _PROTOBUF), message, within)


def _metrics(message: bytes, within: bytes) -> Case:
    return Case(costs.METRICS, lambda body: metrics.decode(body, _PROTOBUF), message, within)


def _traces(message: bytes, within: bytes) -> Case:
    return Case(costs.TRACES, lambda body: traces.decode(body, _PROTOBUF), message, within)


def _version_1(message: bytes, within: bytes = b"\x0a", before: bytes = _LABEL) -> Case:
    return Case(VERSION_1, lambda body: decode_plainly(body, Version.ONE, 1000), message, within, before)


def _version_2(message: bytes, within: bytes = b"") -> Case:
    return Case(VERSION_2, lambda body: decode_plainly(body, Version.TWO, 1000), message, within)


def _loki(message: bytes, within: bytes = b"", before: bytes = b"") -> Case:
    return Case(LOKI, lambda body: loki.decode(body, _PROTOBUF, dataset="d"), message, within, before)


CASES: Final = {
    "Loki stream": _loki(b"\x0a\x06\x0a\x02{}\x12\x00"),
    "Loki entry": _loki(b"\x12\x00", b"\x0a", b"\x0a\x02{}"),
    "ResourceLogs": _logs(b"\x0a\x00", b""),
    "ScopeLogs": _logs(b"\x12\x00", b"\x0a"),
    "LogRecord": _logs(b"\x12\x00", b"\x0a\x12"),
    "attribute": _logs(b"\x32\x0a\x0a\x01k\x12\x05\x0a\x03abc", b"\x0a\x12\x12"),
    "nested value": _logs(b"\x0a\x00", b"\x0a\x12\x12\x32\x12\x2a"),
    "Metric": _metrics(b"\x12\x00", b"\x0a\x12"),
    "number point": _metrics(b"\x0a\x00", b"\x0a\x12\x12\x2a"),
    "histogram point": _metrics(b"\x0a\x00", b"\x0a\x12\x12\x4a"),
    "exponential point": _metrics(b"\x0a\x00", b"\x0a\x12\x12\x52"),
    "summary point": _metrics(b"\x0a\x00", b"\x0a\x12\x12\x5a"),
    "exemplar": _metrics(b"\x2a\x00", b"\x0a\x12\x12\x2a\x0a"),
    "quantile": _metrics(b"\x32\x00", b"\x0a\x12\x12\x5a\x0a"),
    "bucket": _metrics(b"\x01", b"\x0a\x12\x12\x52\x0a\x42\x12"),
    "Span": _traces(b"\x12\x00", b"\x0a\x12"),
    "event": _traces(b"\x5a\x00", b"\x0a\x12\x12"),
    "link": _traces(b"\x6a\x00", b"\x0a\x12\x12"),
    "TimeSeries": _version_1(b"\x0a\x00", b"", b""),
    "label": _version_1(b"\x0a\x00"),
    "sample": _version_1(b"\x12\x00"),
    "exemplar, 1.0": _version_1(b"\x1a\x00"),
    "native histogram": _version_1(b"\x22\x00"),
    "span of buckets": _version_1(b"\x5a\x00", b"\x0a\x22", b""),
    "delta": _version_1(b"\x02", b"\x0a\x22\x62", b""),
    "symbol": _version_2(b"\x22\x00"),
    "TimeSeries, 2.0": _version_2(b"\x2a\x00"),
    "reference": _version_2(b"\x00", b"\x2a\x0a"),
}


def body_of(case: Case, messages: int) -> bytes:
    body = case.before + case.message * messages
    for tag in reversed(case.within):
        body = bytes((tag,)) + _varint(len(body)) + body
    return body


def _varint(number: int) -> bytes:
    rest = b""
    while number > 0x7F:
        rest += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return rest + bytes((number,))


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(name: str) -> str:
    case = CASES[name]
    body = body_of(case, MESSAGES)
    case.decode(body_of(case, 1))
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    before = _memory("VmRSS")
    decoding = _seconds(lambda: case.decode(body))
    memory = _memory("VmHWM") - before
    counting = _seconds(lambda: case.shape.estimate(body, LIMIT))
    charged = case.shape.estimate(body, LIMIT)
    return (
        f"{name:18} {memory / MESSAGES:7.0f} B {decoding / MESSAGES * 1e6:7.2f} us a message"
        f"  charged {charged / max(memory, 1):5.1f}  counted {counting / decoding:5.1%}"
    )


def main() -> None:
    if len(sys.argv) > 1:
        print(measure(sys.argv[1]))
        return
    for name in CASES:
        subprocess.run([sys.executable, "-m", "bench.wire_cost", name], check=True)


if __name__ == "__main__":
    main()
