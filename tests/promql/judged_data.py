"""Samples that Weir and a real Prometheus both get: resets, gaps, staleness, NaN, classic and native histograms."""

import math
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.proto.remote_write import WriteRequest

STALE = struct.unpack("<d", bytes.fromhex("020000000000f07f"))[0]
INTERVAL_MS = 15_000
STEPS = 240
BOUNDS = ("0.005", "0.05", "0.25", "1", "2.5", "+Inf")


@dataclass
class NativeSample:
    """A native histogram: counts of buckets from `offset` on, of integers unless `is_float`."""

    counts: list[float]
    offset: int
    sum: float
    schema: int = 2
    zero: float = 0
    threshold: float = 1e-6
    negative: list[float] = field(default_factory=list)
    custom: list[float] = field(default_factory=list)
    gauge: bool = False


@dataclass
class JudgedSeries:
    labels: dict[str, str]
    samples: dict[int, float | NativeSample] = field(default_factory=dict)
    exemplars: dict[int, tuple[dict[str, str], float]] = field(default_factory=dict)


def judged_series(start_ms: int, seed: int = 7) -> list[JudgedSeries]:
    """The same for the same start and seed."""
    draw = random.Random(seed)
    makers = (_counters, _gauges, _classic, _native, _custom, _up, _sparse, _odd)
    return [each for make in makers for each in make(start_ms, draw)]


def _times(start_ms: int, draw: random.Random, gap: float = 0.0) -> Iterator[int]:
    for step in range(STEPS):
        if draw.random() >= gap:
            yield start_ms + step * INTERVAL_MS + draw.choice((0, 0, 3, 17))


def _counters(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    for job in ("api", "web"):
        for instance in ("a:1", "b:1", "c:1"):
            for number, code in enumerate(("200", "404", "500")):
                # Never equal: which of equal series topk keeps follows from the order in a server's memory.
                own = (ord(instance[0]) + 10 * number + (100 if job == "web" else 0)) / 1024
                labels = {"__name__": "http_requests_total", "job": job, "instance": instance, "code": code}
                series, value = JudgedSeries(labels), draw.randrange(100) + own
                for time in _times(start_ms, draw, gap=0.05 if instance == "b:1" else 0.0):
                    value += draw.choice((0, 1, 2, 0.5, 10, 0.1))
                    value = own if draw.random() < 0.01 else value
                    series.samples[time] = value
                    if draw.random() < 0.02:
                        series.exemplars[time] = {"trace_id": f"{draw.getrandbits(64):016x}"}, draw.random()
                yield series


def _gauges(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    special = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e300, 5e-324)
    for number in range(6):
        series = JudgedSeries({"__name__": "memory_bytes", "job": "api" if number < 4 else "web", "n": str(number)})
        value = draw.uniform(-10, 10)
        for time in _times(start_ms, draw, gap=0.02):
            value += draw.gauss(0, 3)
            is_special = number in (1, 4) and draw.random() < 0.03
            series.samples[time] = draw.choice(special) if is_special else round(value, 3)
        yield series


def _classic(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    for instance in ("a:1", "b:1"):
        labels = {"job": "api", "instance": instance}
        buckets = {le: JudgedSeries({"__name__": "latency_seconds_bucket", "le": le, **labels}) for le in BOUNDS}
        total = JudgedSeries({"__name__": "latency_seconds_sum", **labels})
        count = JudgedSeries({"__name__": "latency_seconds_count", **labels})
        counts, summed = [0] * len(BOUNDS), 0.0
        for time in _times(start_ms, draw):
            for index in range(len(BOUNDS)):
                counts[index] += draw.randrange(4)
            summed += draw.random() * 3
            if draw.random() < 0.008:
                counts, summed = [0] * len(BOUNDS), 0.0
            for index, le in enumerate(BOUNDS):
                buckets[le].samples[time] = float(sum(counts[: index + 1]))
            total.samples[time], count.samples[time] = summed, float(sum(counts))
        yield from (*buckets.values(), total, count)


def _native(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    for number, schema in enumerate((2, 2, 0, 3)):
        series = JudgedSeries({"__name__": "duration_seconds", "job": "api", "n": str(number)})
        counts, negative, zero, summed = [0.0] * 8, [0.0] * 3, 0.0, 0.0
        for time in _times(start_ms, draw, gap=0.03):
            counts = [each + draw.randrange(3) for each in counts]
            negative = [each + draw.randrange(2) for each in negative] if number == 1 else []
            zero += draw.randrange(2)
            summed += draw.random() * 5
            if draw.random() < 0.012:
                counts, negative, zero, summed = [0.0] * 8, [0.0] * len(negative), 0.0, 0.0
            series.samples[time] = NativeSample(list(counts), -2, summed, schema, zero, negative=list(negative))
        yield series


def _custom(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    bounds = [[0.1, 1.0, 5.0], [0.1, 1.0, 5.0], [0.1, 2.0, 5.0]]
    for number, custom in enumerate(bounds):
        series = JudgedSeries({"__name__": "size_bytes", "job": "web", "n": str(number)})
        counts, summed = [0.0] * 4, 0.0
        for time in _times(start_ms, draw):
            counts = [each + draw.randrange(3) for each in counts]
            summed += draw.random()
            series.samples[time] = NativeSample(list(counts), 0, summed, -53, custom=custom)
        yield series


def _up(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    """With staleness markers: a target that goes and comes back."""
    for number, instance in enumerate(("a:1", "b:1", "c:1")):
        series = JudgedSeries({"__name__": "up", "job": "api", "instance": instance})
        for step, time in enumerate(_times(start_ms, draw)):
            if number == 1 and 80 <= step < 130:
                if step == 80:
                    series.samples[time] = STALE
                continue
            series.samples[time] = 1.0 if draw.random() > 0.1 else 0.0
        yield series


def _sparse(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    for number, every in enumerate((16, 30, 100)):
        series = JudgedSeries({"__name__": "sparse", "every": str(every)})
        for step in range(number, STEPS, every):
            series.samples[start_ms + step * INTERVAL_MS] = float(step)
        yield series


def _odd(start_ms: int, draw: random.Random) -> Iterator[JudgedSeries]:
    """Names in UTF-8, empty values, a single sample, equal values."""
    yield JudgedSeries({"__name__": "with.dots", "http.method": "GET", "empty": ""}, {start_ms + 60_000 * 30: 4.5})
    yield JudgedSeries({"__name__": "single", "job": "api"}, {start_ms + 60_000 * 20: 42.0})
    for number in range(5):
        steady = {start_ms + step * INTERVAL_MS: 7.0 for step in range(STEPS)}
        yield JudgedSeries({"__name__": "steady", "n": str(number), "parity": str(number % 2)}, steady)


def requests_of(series: list[JudgedSeries], slice_ms: int = 300_000) -> Iterator[bytes]:
    """Write requests in the order of time, a slice of all series each."""
    first = min(min(each.samples) for each in series)
    last = max(max(each.samples) for each in series)
    for start in range(first, last + 1, slice_ms):
        request = WriteRequest()
        for each in series:
            _add(request, each, start, start + slice_ms)
        yield request.SerializeToString()


def _add(request: WriteRequest, series: JudgedSeries, start: int, end: int) -> None:
    chosen = {time: value for time, value in sorted(series.samples.items()) if start <= time < end}
    if not chosen:
        return
    message = request.timeseries.add()
    for name, value in sorted(series.labels.items()):
        if value:
            message.labels.add(name=name, value=value)
    for time, value in chosen.items():
        if isinstance(value, NativeSample):
            _add_native(message, time, value)
        else:
            message.samples.add(value=value, timestamp=time)
    for time, (labels, value) in sorted(series.exemplars.items()):
        if start <= time < end:
            exemplar = message.exemplars.add(value=value, timestamp=time)
            for name, text in labels.items():
                exemplar.labels.add(name=name, value=text)


def _add_native(message: object, time: int, sample: NativeSample) -> None:
    histogram = message.histograms.add(timestamp=time, schema=sample.schema, sum=sample.sum)  # type: ignore[attr-defined]
    histogram.count_int = int(sum(sample.counts) + sum(sample.negative) + sample.zero)
    if sample.custom:
        histogram.custom_values.extend(sample.custom)
    else:
        histogram.zero_threshold, histogram.zero_count_int = sample.threshold, int(sample.zero)
    for counts, spans, deltas in (
        (sample.counts, histogram.positive_spans, histogram.positive_deltas),
        (sample.negative, histogram.negative_spans, histogram.negative_deltas),
    ):
        if counts:
            spans.add(offset=sample.offset, length=len(counts))
            deltas.extend(int(now - before) for before, now in zip([0.0, *counts], counts, strict=False))
