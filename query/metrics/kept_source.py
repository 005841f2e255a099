"""The series of a dataset as the evaluator asks for them: of files what is kept of them, the rest read now."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from promql.merging import merged
from promql.series import Samples
from promql.tree import Matcher
from query.metrics.kept_samples import KeptSamples
from query.metrics.series import NS_PER_MS, MetricSource
from storage.read.contents import File, Snapshot

Matchers = tuple[Matcher, ...]


@dataclass(frozen=True)
class KeptSource:
    """For readers of all rows, of a snapshot whose range, if it has one, is of the samples' times.

    `plain` reads everything anew, `unconverted` what is in no file yet (None: nothing is). `files` are those that may
    have rows for the matchers; `load` reads all samples of some of them.
    """

    plain: MetricSource
    unconverted: MetricSource | None
    kept: KeptSamples
    snapshot: Snapshot
    files: Callable[[Matchers], tuple[File, ...]]
    load: Callable[[Matchers, tuple[File, ...]], Samples | None]

    def select(self, matchers: Matchers, start_ms: int, end_ms: int) -> Samples:
        """As a Source of the evaluator."""
        schema = self.snapshot.schema
        key = schema.dataset_id, schema.columns, matchers
        found = self.kept.of(key, self.files(matchers), partial(self.load, matchers))
        if found is None:
            return self.plain.select(matchers, start_ms, end_ms)
        found = found.between(*self._bounded(start_ms, end_ms))
        if self.unconverted is not None:
            joined = merged([found, self.unconverted.select(matchers, start_ms, end_ms)])
            if joined is None:
                return self.plain.select(matchers, start_ms, end_ms)
            found = joined
        return self.plain.checked(found)

    def _bounded(self, start_ms: int, end_ms: int) -> tuple[int, int]:
        """No row beyond the snapshot's range, which `plain` does not see either."""
        start, end = self.snapshot.start, self.snapshot.end
        if start is not None:
            start_ms = max(start_ms, -(-start // NS_PER_MS))
        return start_ms, end_ms if end is None else min(end_ms, (end - 1) // NS_PER_MS)
