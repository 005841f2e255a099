"""Statements that are asked of one snapshot, as the alerts of one slot are: what they aggregate is computed in one
scan, before each of them is asked (docs/decisions/alerts.md)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from errors import WeirError
from query import engine
from query.engine import Table
from query.lower.constant_folding import is_volatile
from query.plan.partial_aggregates import PartialAggregation, Question, partial_aggregations
from query.plan.plain_predicates import is_plain
from query.plan.shared_scan import Share, shared_questions
from query.plan.tree import Query
from query.process.dataset_view import DatasetView
from query.process.messages import Source
from query.process.recent import Recent
from query.process.whole_files import KnownParts
from storage.read.contents import Snapshot
from storage.read.scan import SnapshotExpired

_ROWS: Final = "rows"
FEWEST: Final = 2
MOST_SUSPECTS: Final = 1_024


@dataclass(frozen=True, slots=True)
class SharedAnswers:
    """What was answered about all rows of a source."""

    source: Source | None = None
    answers: Mapping[Question, pl.DataFrame] = field(default_factory=dict)

    def known(self, query: Query, views: Mapping[str, DatasetView]) -> KnownParts:
        """The query with its aggregation's answer, if that is known; then nothing is left to read of its dataset."""
        name = next((name for name, view in views.items() if view.source is self.source), None)
        aggregation = None if name is None else sole_aggregation(query, {name: views[name]})
        answer = None if aggregation is None else self.answers.get(aggregation.question)
        if name is None or aggregation is None or answer is None:
            return KnownParts(query, dict(views), {})
        # No dataset has such a name.
        table = f"{name}\0shared"
        rows = answer.rename(dict(zip(answer.columns, (each.id for each in aggregation.parts), strict=True)))
        relation = aggregation.with_answer(query.relation, table)
        empty = replace(views[name], narrowed=replace(views[name].snapshot, files=(), segments=(), ranges={}))
        return KnownParts(replace(query, relation=relation), {**views, name: empty}, {table: Table(rows.lazy())})


def sole_aggregation(query: Query, views: Mapping[str, DatasetView]) -> PartialAggregation | None:
    """The aggregation of all rows of these views that the query consists of, if that is what it is."""
    if is_volatile(query.relation):
        return None
    times = {name: view.snapshot.time_column for name, view in views.items()}
    found = [each for each in partial_aggregations(query.relation, times) if not each.spans]
    return found[0] if len(found) == 1 else None


def is_selective(narrowed: DatasetView, view: DatasetView) -> bool:
    """Whether the statement reads less than half of the rows in files by itself."""
    own, whole = (sum(map(each.snapshot.rows_of, each.snapshot.files)) for each in (narrowed, view))
    return 2 * own < whole


class SharedScan:
    """Answers several questions at once. One that fails leaves each of those that may have been it to itself, from then
    on: a statement that always fails must not spoil what the others share."""

    def __init__(self, scan: Callable[[Snapshot], pl.LazyFrame]) -> None:
        self._scan = scan
        self._suspects: Recent[Question, bool] = Recent(MOST_SUSPECTS)

    def answers(self, source: Source, questions: Sequence[Question]) -> SharedAnswers:
        """The answers to questions about all rows of the source. Raises SnapshotExpired, FileNotFoundError."""
        asked = [each for each in dict.fromkeys(questions) if self._suspects.get(each) is None]
        safe = [each for each in asked if _cannot_fail(each)]
        try:
            return self._answered(source, asked)
        except SnapshotExpired:
            raise
        except (pl.exceptions.PolarsError, WeirError):
            for each in asked:
                if each not in safe:
                    self._suspects.put(each, True)
            return self._answered(source, safe)

    def _answered(self, source: Source, questions: Sequence[Question]) -> SharedAnswers:
        if len(questions) < FEWEST:
            return SharedAnswers()
        rows = Table(self._scan(source.snapshot))
        answers: dict[Question, pl.DataFrame] = {}
        for shared in shared_questions(questions):
            frame = engine.lower_relation(shared.question.of_rows(_ROWS), {_ROWS: rows}).collect(engine="streaming")
            answers |= {share.question: _part(frame, share) for share in shared.shares}
        return SharedAnswers(source, answers)


def _cannot_fail(question: Question) -> bool:
    """True for what compares columns with constants, and aggregates columns."""
    wheres = [call.where for call in question.calls if call.where is not None]
    values = [arg for call in question.calls for arg in call.args]
    return all(map(is_plain, (*question.predicates, *wheres, *question.keys, *values)))


def _part(answer: pl.DataFrame, share: Share) -> pl.DataFrame:
    """The answer to one question."""
    if share.present is not None:
        answer = answer.filter(pl.col(share.present) > 0)
    keys = [field.id for field in share.question.fields[: len(share.question.keys)]]
    names = (field.id for field in share.question.fields[len(keys) :])
    return answer.select(*keys, *(pl.col(call).alias(name) for call, name in zip(share.calls, names, strict=True)))
