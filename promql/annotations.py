"""Warnings and infos of an evaluation, in Prometheus' words (util/annotations/annotations.go)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from promql.fault import position
from promql.labels import quoted
from promql.numbers import format_g

WARNING: Final = "PromQL warning"
INFO: Final = "PromQL info"
_MONOTONICITY: Final = (
    "input to histogram_quantile needed to be fixed for monotonicity "
    "(see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)"
)


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was done to buckets that were not monotonic, over all samples of one expression."""

    first_ms: int
    last_ms: int
    least_bucket: float
    greatest_bucket: float
    most: float
    samples: int = 1

    def merged(self, other: "Fixed") -> "Fixed":
        return Fixed(
            min(self.first_ms, other.first_ms),
            max(self.last_ms, other.last_ms),
            min(self.least_bucket, other.least_bucket),
            max(self.greatest_bucket, other.greatest_bucket),
            max(self.most, other.most),
            self.samples + other.samples,
        )

    def __str__(self) -> str:
        first, last = (datetime.fromtimestamp(ms // 1000, UTC) for ms in (self.first_ms, self.last_ms))
        buckets = f"from buckets {format_g(self.least_bucket)} to {format_g(self.greatest_bucket)}"
        difference = f"with a max diff of {format_g(float(f'{self.most:.2g}'))}"
        times = f"from {first:%Y-%m-%dT%H:%M:%SZ} to {last:%Y-%m-%dT%H:%M:%SZ}"
        return f", {buckets}, {difference}, over {self.samples} samples {times}"


@dataclass(frozen=True, slots=True)
class Note:
    kind: str
    message: str
    at: int
    fixed: Fixed | None = None


@dataclass
class Annotations:
    """Each text is kept once, at its latest position, as Prometheus does."""

    notes: dict[tuple[str, str], Note] = field(default_factory=dict)

    def warn(self, message: str, at: int) -> None:
        self.notes[WARNING, message] = Note(WARNING, message, at)

    def info(self, message: str, at: int) -> None:
        self.notes[INFO, message] = Note(INFO, message, at)

    def forced_monotonicity(self, fixed: Fixed, at: int) -> None:
        before = self.notes.get((INFO, _MONOTONICITY))
        merged = fixed if before is None or before.fixed is None else before.fixed.merged(fixed)
        self.notes[INFO, _MONOTONICITY] = Note(INFO, _MONOTONICITY, at, merged)

    def mixed_floats_histograms(self, metric: str, at: int) -> None:
        self.warn(f"encountered a mix of histograms and floats for metric name {quoted(metric)}", at)

    def mixed_in_aggregation(self, at: int) -> None:
        self.warn("encountered a mix of histograms and floats for aggregation", at)

    def mixed_schemas(self, metric: str, at: int) -> None:
        text = "vector contains a mix of histograms with exponential and custom buckets schemas for metric name"
        self.warn(f"{text} {quoted(metric)}", at)

    def not_counter(self, metric: str, at: int) -> None:
        self.warn(f"this native histogram metric is not a counter: {quoted(metric)}", at)

    def not_gauge(self, metric: str, at: int) -> None:
        self.warn(f"this native histogram metric is not a gauge: {quoted(metric)}", at)

    def invalid_quantile(self, quantile: float, at: int) -> None:
        self.warn(f"quantile value should be between 0 and 1, got {format_g(quantile)}", at)

    def possible_non_counter(self, metric: str, at: int) -> None:
        text = "metric might not be a counter, name does not end in _total/_sum/_count/_bucket:"
        self.info(f"{text} {quoted(metric)}", at)

    def ignored_in_range(self, metric: str, at: int) -> None:
        text = "ignored histograms in a range containing both floats and histograms for metric name"
        self.info(f"{text} {quoted(metric)}", at)

    def ignored_in_aggregation(self, operation: str, at: int) -> None:
        self.info(f"ignored histogram in {operation} aggregation", at)

    def reset_collision(self, operation: str, at: int) -> None:
        self.warn(f"conflicting counter resets during histogram {operation}", at)

    def reconciled_bounds(self, operation: str, at: int) -> None:
        self.info(f"mismatched custom buckets were reconciled during {operation}", at)

    def texts(self, query: str, most: int = 0) -> tuple[list[str], list[str]]:
        """Warnings and infos, each with its line and column; beyond `most` (0: all) only how many there are."""
        return _limited(self._of(WARNING, query), most, "warning"), _limited(self._of(INFO, query), most, "info")

    def _of(self, kind: str, query: str) -> Iterable[str]:
        return (_text(note, query) for note in self.notes.values() if note.kind == kind)


def _text(note: Note, query: str) -> str:
    text = f"{note.kind}: {note.message}"
    if not query:
        return text
    return f"{text}{note.fixed or ''} ({position(query, note.at)})"


def _limited(texts: Iterable[str], most: int, kind: str) -> list[str]:
    found = list(texts)
    if not most or len(found) <= most:
        return found
    return [*found[:most], f"{len(found) - most} more {kind} annotations omitted"]
