"""Native histograms in the columns of OTLP's: exponential buckets, or explicit bounds for custom ones."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from columns import ColumnType, Field
from ingest.remote_write.series import InvalidHistogram

Cells = dict[Field, Any]

CUSTOM_BUCKETS: Final = -53
_EXPONENTIAL: Final = range(-4, 9)
_RESET_HINTS: Final = {1: "yes", 2: "no", 3: "gauge"}

# Spans may lie far apart and we store the empty buckets between them, as OTLP does. Real histograms have some
# hundred buckets; without a limit, a request of 30 bytes could ask for four thousand million.
MAX_BUCKETS: Final = 10_000
_LAST: Final = 2**63 - 1


def histogram_type(histogram: Any) -> str:
    """`metric_type` tells which columns are filled, as it does for OTLP."""
    return "histogram" if histogram.schema == CUSTOM_BUCKETS else "exponential_histogram"


def histogram_cells(histogram: Any) -> Cells:
    """The columns of one native histogram. Raises InvalidHistogram where its parts contradict each other."""
    is_float = histogram.WhichOneof("count") == "count_float"
    count = histogram.count_float if is_float else histogram.count_int
    cells: Cells = {
        _number("data_point_count", count): _fitting(count),
        Field("data_point_sum", ColumnType.FLOAT64): histogram.sum,
    }
    hint = _RESET_HINTS.get(histogram.reset_hint)
    if hint is not None:
        cells[Field("data_point_reset_hint", ColumnType.UTF8)] = hint
    if histogram.schema == CUSTOM_BUCKETS:
        return cells | _custom(histogram, is_float)
    if histogram.schema not in _EXPONENTIAL:
        raise InvalidHistogram(f"a native histogram of schema {histogram.schema}")
    return cells | _exponential(histogram, is_float)


def _exponential(histogram: Any, is_float: bool) -> Cells:
    zeros = histogram.zero_count_float if is_float else histogram.zero_count_int
    cells: Cells = {
        Field("data_point_scale", ColumnType.INT64): histogram.schema,
        _number("data_point_zero_count", zeros): _fitting(zeros),
        Field("data_point_zero_threshold", ColumnType.FLOAT64): histogram.zero_threshold,
    }
    for side in ("positive", "negative"):
        first, counts = _buckets(histogram, side, is_float)
        # Prometheus names a bucket by its upper bound base**i, OTLP by its lower.
        cells[Field(f"{side}_offset", ColumnType.INT64)] = first - 1 if counts else 0
        cells[_list(f"{side}_bucket_count", is_float)] = counts
    return cells


def _custom(histogram: Any, is_float: bool) -> Cells:
    bounds = list(histogram.custom_values)
    first, counts = _buckets(histogram, "positive", is_float)
    if first < 0 or first + len(counts) > len(bounds) + 1:
        raise InvalidHistogram("a native histogram with a bucket outside its custom bounds")
    dense = [0] * first + counts + [0] * (len(bounds) + 1 - first - len(counts))
    return {
        _list("data_point_bucket_counts", is_float): dense,
        Field("data_point_explicit_bounds", ColumnType.LIST_FLOAT64): bounds,
    }


def _buckets(histogram: Any, side: str, is_float: bool) -> tuple[int, list[Any]]:
    """The index of the first bucket and the counts from there on, empty buckets included."""
    spans = getattr(histogram, f"{side}_spans")
    counts: Sequence[Any] = getattr(histogram, f"{side}_counts")
    if not is_float:
        counts = list(accumulate(getattr(histogram, f"{side}_deltas")))
    if sum(span.length for span in spans) != len(counts):
        raise InvalidHistogram(f"a native histogram with {len(counts)} {side} buckets whose spans say otherwise")
    if any(not count >= 0 for count in counts) or (not is_float and counts and max(counts) > _LAST):
        raise InvalidHistogram("a native histogram with a bucket count that is none")
    if any(span.offset < 0 for span in spans[1:]):
        raise InvalidHistogram("a native histogram with overlapping spans")
    first = spans[0].offset if spans else 0
    if sum(span.offset for span in spans) - first + len(counts) > MAX_BUCKETS:
        raise InvalidHistogram(f"a native histogram of more than {MAX_BUCKETS} buckets")
    return first, _dense(spans, counts)


def _dense(spans: Sequence[Any], counts: Sequence[Any]) -> list[Any]:
    dense: list[Any] = []
    position_in_counts = 0
    for position, span in enumerate(spans):
        dense += [0] * (span.offset if position else 0)
        dense += counts[position_in_counts : position_in_counts + span.length]
        position_in_counts += span.length
    return dense


def _number(name: str, value: float) -> Field:
    """An integer beyond 64 bits with sign is decimal text, as everywhere."""
    if isinstance(value, float):
        return Field(name, ColumnType.FLOAT64)
    return Field(name, ColumnType.INT64) if value <= _LAST else Field(name, ColumnType.UTF8, displaced=True)


def _fitting(value: float) -> float | str:
    return str(value) if isinstance(value, int) and value > _LAST else value


def _list(name: str, is_float: bool) -> Field:
    return Field(name, ColumnType.LIST_FLOAT64 if is_float else ColumnType.LIST_INT64)
