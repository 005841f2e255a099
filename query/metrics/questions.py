"""What is asked of metrics besides expressions: plain values, which who asks has without what answers them, above all
without numpy (docs/decisions/query-processes.md)."""

from dataclasses import dataclass

from promql.tree import Matcher


@dataclass(frozen=True, slots=True)
class MetricQuestion:
    """What is asked of label sets. `kind`: series, labels, values, label_names, label_values, active_series or tsdb.

    `selectors` are texts; `label` is the one that is asked for, or the focus of `tsdb`; `limit` 0: all.
    """

    kind: str
    selectors: tuple[str, ...]
    start_ms: int | None
    end_ms: int | None
    label: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """One query of a remote-read request; both times are included."""

    matchers: tuple[Matcher, ...]
    start_ms: int
    end_ms: int
