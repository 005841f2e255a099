"""The requests about metrics to a query process: PromQL, and questions about label sets."""

from dataclasses import dataclass

from query.metrics.questions import MetricQuestion, ReadQuery
from query.process.messages import Source


@dataclass(frozen=True, slots=True)
class Expression:
    """A PromQL expression at instants, in ms; an instant query has one step. `experimental`: with the functions that
    Prometheus keeps behind a flag."""

    text: str
    start_ms: int
    end_ms: int
    step_ms: int
    is_range: bool
    lookback_ms: int
    experimental: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """From when to when samples are needed, in ms, both included; None: none are."""

    start_ms: int | None
    end_ms: int | None

    def moved(self, start_ms: int, end_ms: int) -> "Reach":
        """With the start, and the end, so much later."""
        if self.start_ms is None or self.end_ms is None:
            return self
        return Reach(self.start_ms + start_ms, self.end_ms + end_ms)


@dataclass(frozen=True, slots=True)
class ParseExpression:
    """Parse and keep. The answer: `{"start": ms, "end": ms}` of the samples that it needs; both null if none."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class MetricLimits:
    """What one evaluation may hold and answer."""

    samples: int
    series: int
    result_bytes: int

    @property
    def read(self) -> tuple[int, int]:
        return self.samples, self.series


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Evaluate the parsed expression over the source. Data: the whole JSON answer; the answer as for Execute.

    `queued_seconds` is how long it has waited for the process, which the statistics tell.
    """

    source: Source
    limits: MetricLimits
    coding: str
    limit: int = 0
    stats: bool = False
    queued_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class AskExpression:
    """Parse, and evaluate if the expression needs just what was expected.

    The answer is that of `Evaluate`; otherwise that of `ParseExpression`, and nothing was evaluated.
    """

    parse: ParseExpression
    expected: Reach
    evaluate: Evaluate


@dataclass(frozen=True, slots=True)
class Find:
    """Answer a question about label sets, or (`kind` exemplars) about exemplars. Data and answer as for Evaluate."""

    source: Source
    lookup: MetricQuestion
    coding: str
    result_bytes: int


@dataclass(frozen=True, slots=True)
class Read:
    """Answer a remote-read request: one snappy block of samples, or a stream of frames of XOR chunks."""

    source: Source
    queries: tuple[ReadQuery, ...]
    is_streamed: bool
    limits: MetricLimits


@dataclass(frozen=True, slots=True)
class Describe:
    """`kind`: format or tree. Data: the JSON answer."""

    kind: str
    text: str
    coding: str
    experimental: bool = False
