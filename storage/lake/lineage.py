"""How a table got from its last snapshot to what the manifest has now: as snapshots that each do one thing. Pure.

Readers that follow a table (Spark streaming, Flink) read what `append` snapshots bring and pass over `replace`. So
every row comes with an append, once, even if its file was compacted before anybody could publish it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from models.lake import TableFile


class Operation(StrEnum):
    """Apache Iceberg table spec, "Snapshots": `replace` changes files without changing the table's rows."""

    APPEND = "append"
    REPLACE = "replace"
    OVERWRITE = "overwrite"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Step:
    """What one snapshot does."""

    operation: Operation
    added: tuple[TableFile, ...] = ()
    removed: tuple[TableFile, ...] = ()


def steps(changed: Sequence[TableFile], *, is_first: bool) -> list[Step]:
    """The snapshots that bring and take the files that are not as the table has them. The first brings what is live."""
    if is_first:
        return _some(Step(Operation.APPEND, tuple(each for each in changed if each.removed_at is None)))
    changed = _without_unseen(changed)
    fresh = [each for each in changed if each.snapshot is None]
    appended = tuple(each for each in fresh if not each.replaces and (each.removed_at is None or each.replaced_by))
    products = tuple(each for each in fresh if each.replaces and each.removed_at is None)
    present = [*appended, *(each for each in changed if each.snapshot is not None)]
    replaced = tuple(each for each in present if each.removed_at is not None and each.replaced_by)
    deleted = tuple(each for each in present if each.removed_at is not None and not each.replaced_by)
    return _some(
        Step(Operation.APPEND, appended),
        Step(_kind(products, replaced), products, replaced),
        Step(Operation.DELETE, removed=deleted),
    )


def _without_unseen(changed: Sequence[TableFile]) -> list[TableFile]:
    """A file that was made of nothing but files that nobody saw counts as one that brings its rows itself."""
    by_path = {each.file.path: each for each in changed}
    sources: dict[str, list[TableFile]] = {}
    for each in changed:
        sources.setdefault(_last(each, by_path), []).append(each)
    unseen = {
        path
        for path, made_of in sources.items()
        if len(made_of) > 1
        and path in by_path
        and all(each.snapshot is None for each in made_of)
        and _rows(each for each in made_of if not each.replaces) == by_path[path].file.rows
    }
    others = [each for path, made_of in sources.items() if path not in unseen for each in made_of]
    return [*others, *(replace(by_path[path], replaces=False) for path in sorted(unseen))]


def _last(each: TableFile, by_path: Mapping[str, TableFile]) -> str:
    """The path of the file that has its rows in the end."""
    while each.replaced_by is not None and each.replaced_by in by_path:
        each = by_path[each.replaced_by]
    return each.replaced_by or each.file.path


def passed_by(changed: Iterable[TableFile], planned: Iterable[Step]) -> list[TableFile]:
    """The files that came and went between two publications and are in none of the snapshots."""
    added = {each.file.path for step in planned for each in step.added}
    return [each for each in changed if each.snapshot is None and each.file.path not in added]


def _some(*planned: Step) -> list[Step]:
    return [step for step in planned if step.added or step.removed]


def _kind(added: Sequence[TableFile], removed: Sequence[TableFile]) -> Operation:
    """Rows that are more or fewer than before: a file of the chain has been forgotten, or has expired."""
    if _rows(added) == _rows(removed):
        return Operation.REPLACE
    return Operation.OVERWRITE if added else Operation.DELETE


def _rows(files: Iterable[TableFile]) -> int:
    return sum(each.file.rows for each in files)
