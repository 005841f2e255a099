"""Results of PromQL as Prometheus' API writes them (web/api/v1/json_codec.go, util/jsonutil)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import orjson

from promql.arrays import Bools, Floats, Ints, Objects, filled
from promql.evaluate import Result
from promql.histogram import Bucket, Histogram
from promql.labels import Labels
from promql.numbers import format_sample
from promql.series import Matrix, Samples
from promql.tree import Type

_MS_PER_SECOND: Final = 1_000
# How many values become text at once: many, since each conversion has a cost of its own, and not all of an answer.
_TEXTS_AT_ONCE: Final = 65_536
_POINT_END: Final = '"],'


def time_text(ms: int) -> str:
    """Seconds with up to three decimals (jsonutil.MarshalTimestamp).

    >>> time_text(1435781451781), time_text(1435781451000), time_text(1435781451050)
    ('1435781451.781', '1435781451', '1435781451.050')
    """
    sign, size = "-" if ms < 0 else "", abs(ms)
    rest = size % _MS_PER_SECOND
    return f"{sign}{size // _MS_PER_SECOND}" + (f".{rest:03}" if rest else "")


def value_texts(values: Floats) -> list[str]:
    """As `format_sample` writes each, for many at once.

    >>> value_texts(np.array([1.0, -0.0, 0.25, 1e-7, np.nan]))
    ['1', '-0', '0.25', '1e-07', 'NaN']
    """
    if not values.size:
        return []
    array = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY).decode()
    texts = array[1:-1].replace(".0,", ",").removesuffix(".0").split(",")
    size = np.abs(values)
    # The shortest digits are Go's as well, but not the exponents.
    special = ~np.isfinite(values) | ((size != 0) & (size < 1e-4)) | (size >= 1e15)
    for index in np.flatnonzero(special).tolist():
        texts[index] = format_sample(float(values[index]))
    return texts


def data_of(result: Result, *, is_range: bool, limit: int = 0) -> Iterator[bytes]:
    """The member `data` of an answer, in pieces."""
    match result.type:
        case Type.STRING:
            yield _tagged("string", f"[{time_text(result.steps.start)},{orjson.dumps(result.text).decode()}]")
        case Type.MATRIX:
            yield from _members("matrix", _sample_series(result.samples, limit))
        case Type.SCALAR if not is_range:
            value = format_sample(float(result.matrix.values[0, 0]))
            yield _tagged("scalar", f'[{time_text(result.steps.start)},"{value}"]')
        case _ if is_range:
            yield from _members("matrix", _step_series(result.matrix, result.steps.times, limit))
        case _:
            yield from _members("vector", _vector(result.matrix, result.steps.start, limit))


def is_truncated(result: Result, limit: int) -> bool:
    """Whether the limit leaves out series."""
    count = len(result.matrix.labels) if result.samples is None else len(result.samples.labels)
    return 0 < limit < count


def _tagged(kind: str, text: str) -> bytes:
    return f'{{"resultType":"{kind}","result":{text}}}'.encode()


def _members(kind: str, members: Iterator[str]) -> Iterator[bytes]:
    yield f'{{"resultType":"{kind}","result":['.encode()
    for number, member in enumerate(members):
        yield (("," if number else "") + member).encode()
    yield b"]}"


def metric_text(labels: Labels) -> str:
    return orjson.dumps(dict(labels)).decode()


def _vector(matrix: Matrix, at: int, limit: int) -> Iterator[str]:
    time = time_text(at)
    texts = value_texts(matrix.values[:, 0]) if matrix.labels else []
    for row, labels in enumerate(matrix.labels[: limit or None]):
        native = matrix.histogram(row, 0)
        if isinstance(native, Histogram):
            yield f'{{"metric":{metric_text(labels)},"histogram":[{time},{histogram_text(native)}]}}'
        else:
            yield f'{{"metric":{metric_text(labels)},"value":[{time},"{texts[row]}"]}}'


def _step_series(matrix: Matrix, times: Ints, limit: int) -> Iterator[str]:
    """In the order of labels, as Prometheus sorts ranges."""
    openings = _openings(times)
    order = sorted(range(len(matrix.labels)), key=matrix.labels.__getitem__)[: limit or None]
    for first in range(0, len(order), _rows_at_once(len(openings))):
        rows = order[first : first + _rows_at_once(len(openings))]
        block = matrix.rows(rows)
        floats = block.floats
        texts = value_texts(block.values[floats])
        ends = np.cumsum(floats.sum(axis=1)).tolist()
        for row, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            chosen = _where(openings, floats[row], end - begin)
            native = (
                []
                if block.histograms is None or block.native is None
                else _native_points(openings, block.histograms[row], block.native[row])
            )
            yield _series_text(block.labels[row], chosen, texts[begin:end], native)


def _rows_at_once(steps: int) -> int:
    return max(_TEXTS_AT_ONCE // max(steps, 1), 1)


def _openings(times: Ints) -> list[str]:
    """What stands before the value of each point: the end of the point before it, and its own beginning."""
    return [f'{_POINT_END}[{time_text(ms)},"' for ms in times.tolist()]


def _where(openings: list[str], present: Bools, count: int) -> list[str]:
    return openings if count == len(openings) else [openings[at] for at in np.flatnonzero(present).tolist()]


def _native_points(openings: Sequence[str], histograms: Objects, present: Bools) -> list[str]:
    found = zip(openings, histograms, present, strict=True)
    return [f"{opening[len(_POINT_END) : -1]}{histogram_text(each)}]" for opening, each, is_there in found if is_there]


def _sample_series(samples: Samples | None, limit: int) -> Iterator[str]:
    if samples is None:
        return
    order = [row for row in range(len(samples.labels)) if samples.starts[row] < samples.starts[row + 1]]
    for row in order[: limit or None]:
        chosen = slice(int(samples.starts[row]), int(samples.starts[row + 1]))
        openings = _openings(samples.times[chosen])
        histograms = None if samples.histograms is None else samples.histograms[chosen]
        is_native = np.zeros(len(openings), dtype=np.bool_) if histograms is None else filled(histograms)
        texts = value_texts(samples.values[chosen][~is_native])
        native = [] if histograms is None else _native_points(openings, histograms, is_native)
        yield _series_text(samples.labels[row], _where(openings, ~is_native, len(texts)), texts, native)


def _series_text(labels: Labels, openings: Sequence[str], texts: Sequence[str], native: Sequence[str]) -> str:
    """A series with its floats, each of which an opening and a text make, and its points of histograms."""
    parts = [f'{{"metric":{metric_text(labels)}']
    if texts:
        points = [""] * (2 * len(texts))
        points[::2], points[1::2] = openings, texts
        parts.append(f',"values":[{"".join(points)[len(_POINT_END) :]}"]]')
    if native:
        parts.append(f',"histograms":[{",".join(native)}]')
    return "".join(parts) + "}"


def histogram_text(histogram: Histogram) -> str:
    """jsonutil.MarshalHistogram: buckets that are not empty, with how their bounds count."""
    buckets = [_bucket_members(each) for each in histogram.buckets() if each.count != 0]
    members: dict[str, Any] = {"count": format_sample(histogram.count), "sum": format_sample(histogram.sum)}
    if buckets:
        members["buckets"] = buckets
    return orjson.dumps(members).decode()


def _bucket_members(bucket: Bucket) -> list[Any]:
    """0: upper bound included, 1: lower, 2: neither, 3: both."""
    rule = {(False, True): 0, (True, False): 1, (False, False): 2, (True, True): 3}
    kind = rule[bucket.lower_inclusive, bucket.upper_inclusive]
    return [kind, format_sample(bucket.lower), format_sample(bucket.upper), format_sample(bucket.count)]
