"""Partial aggregates: of a question that comes again, what each file answered is kept, so only what is new is read.

Dashboards and alerts ask the same of a range that moves on. A file never changes, so what it answered holds for as long
as it is there (docs/decisions/text-index.md).
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from errors import WeirError
from query import engine
from query.engine import Table
from query.lower.constant_folding import is_volatile
from query.plan.partial_aggregates import PartialAggregation, Question, partial_aggregations
from query.process.dataset_view import DatasetView
from query.process.whole_files import KnownParts, files_within
from storage.read.contents import File, Snapshot
from storage.read.scan import SnapshotExpired

# A file of fewer rows is read as fast as its answer is joined to those of others.
LEAST_ROWS: Final = 50_000
# A file that answers with more groups answers with about as many rows as it has.
MOST_GROUPS: Final = 1_000
MOST_BYTES: Final = 16 * 1024 * 1024
# About what an answer takes besides its values.
OVERHEAD_BYTES: Final = 2_048
# Questions that came once. Most come never again.
MOST_SEEN: Final = 4_096

_ROWS: Final = "rows"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about a dataset, with what it means there."""

    root: str
    dataset_id: int
    zone: str
    question: Question


@dataclass(slots=True)
class _Answers:
    """What files answered, by their paths. `is_useless`: more than can be kept, or an error, which the whole statement
    is to meet by itself."""

    by_path: dict[str, pl.DataFrame] = field(default_factory=dict)
    is_useless: bool = False

    @property
    def bytes(self) -> int:
        return sum(OVERHEAD_BYTES + int(each.estimated_size()) for each in self.by_path.values())


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """A query that takes parts of its answer from `tables`; `asked` are the files that were read for them."""

    known: KnownParts
    asked: tuple[Snapshot, ...] = ()


class PartialAggregates:
    """What files answered one query process; what was asked last is at the end."""

    def __init__(self, scan: Callable[[Snapshot], pl.LazyFrame]) -> None:
        self._scan = scan
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._kept: OrderedDict[_Asked, _Answers] = OrderedDict()

    def known(self, known: KnownParts, zone: str) -> KnownAnswers:
        """The query with the answers of files, from the second time on that something is asked.

        Not of readers under row-level security, whose rows are not all of a file. Raises SnapshotExpired,
        FileNotFoundError.
        """
        found = KnownAnswers(known)
        large = {name: view for name, view in known.views.items() if _is_large(view)}
        if large and not is_volatile(known.query.relation):
            times = {name: view.snapshot.time_column for name, view in large.items()}
            for aggregation in partial_aggregations(known.query.relation, times):
                found = self._with_answers(found, aggregation, zone)
        return found

    def _with_answers(self, found: KnownAnswers, aggregation: PartialAggregation, zone: str) -> KnownAnswers:
        snapshot = found.known.views[aggregation.scan.dataset].snapshot
        within = files_within(snapshot, aggregation.scan, aggregation.spans)
        files = [each for each in within if each.rows >= LEAST_ROWS]
        asked = _Asked(snapshot.root, snapshot.schema.dataset_id, zone, aggregation.question)
        answers = self._answers(asked) if files else None
        if answers is None or answers.is_useless:
            return found
        lacking = tuple(each for each in files if each.path not in answers.by_path)
        for file in lacking:
            answers.by_path[file.path] = self._answer(asked.question, snapshot, file, answers)
            if answers.is_useless:
                answers.by_path.clear()
                return found
        known = _with_parts(found.known, aggregation, [answers.by_path[each.path] for each in files], files)
        if lacking:
            self._trim(answers, snapshot)
        return KnownAnswers(known, (*found.asked, _of_files(snapshot, lacking)))

    def _answers(self, asked: _Asked) -> _Answers | None:
        """What is kept of a question; None when it comes for the first time."""
        if asked in self._kept:
            self._kept.move_to_end(asked)
            return self._kept[asked]
        key = hash(asked)
        if key in self._seen:
            return self._kept.setdefault(asked, _Answers())
        self._seen[key] = None
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return None

    def _answer(self, question: Question, snapshot: Snapshot, file: File, answers: _Answers) -> pl.DataFrame:
        rows = Table(self._scan(_of_files(snapshot, (file,))))
        try:
            answer = engine.lower_relation(question.of_rows(_ROWS), {_ROWS: rows}).collect(engine="streaming")
        except SnapshotExpired:
            raise
        except (pl.exceptions.PolarsError, WeirError):
            answers.is_useless = True
            return pl.DataFrame()
        answers.is_useless = answer.height > MOST_GROUPS
        return answer

    def _trim(self, latest: _Answers, snapshot: Snapshot) -> None:
        """Drop the answers of files that are out of sight, then what was not asked for longest."""
        paths = {file.path for file in snapshot.files}
        if len(latest.by_path) > 2 * len(paths):
            latest.by_path = {path: answer for path, answer in latest.by_path.items() if path in paths}
        kept = sum(each.bytes for each in self._kept.values())
        while kept > MOST_BYTES:
            kept -= self._kept.popitem(last=False)[1].bytes


def _is_large(view: DatasetView) -> bool:
    return view.source.permitted_tags is None and any(file.rows >= LEAST_ROWS for file in view.snapshot.files)


def _of_files(snapshot: Snapshot, files: tuple[File, ...]) -> Snapshot:
    """All rows of the files."""
    return replace(snapshot, files=files, segments=(), start=None, end=None, time_conditions=())


def _with_parts(
    known: KnownParts, aggregation: PartialAggregation, answers: Sequence[pl.DataFrame], files: Sequence[File]
) -> KnownParts:
    """The query with these answers of files, which are not read any more."""
    name = aggregation.scan.dataset
    # No dataset has such a name.
    table = f"{name}\0answers"
    view, paths = known.views[name], {file.path for file in files}
    rest = replace(view.snapshot, files=tuple(each for each in view.snapshot.files if each.path not in paths))
    parts = pl.concat(answers)
    parts.columns = [field.id for field in aggregation.parts]
    return KnownParts(
        replace(known.query, relation=aggregation.with_answers(known.query.relation, table)),
        {**known.views, name: replace(view, narrowed=rest)},
        {**known.tables, table: Table(parts.lazy())},
    )
