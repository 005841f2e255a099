"""Subqueries that the expressions of a block use, and of which query's rows an aggregate over them is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from query.plan.environment import CommonTables
from query.plan.traverse import columns, free_columns, inputs, replace_relation
from query.plan.tree import AggregateCall, Column, CteRef, Relation, Scalar, Values, WorkTable


@dataclass(frozen=True, slots=True)
class PendingLookup:
    """A subquery whose value an expression uses: joined to the block's rows before they are projected.

    `keys` pair an expression of this block with the column of `relation` it has to equal.
    """

    relation: Relation
    keys: tuple[tuple[Scalar, Column], ...] = ()
    single: bool = False

    def depends_on(self, outer: Relation) -> bool:
        """Whether it refers to columns of these rows."""
        outer_ids = {field.id for field in outer.fields}
        return any(column.id in outer_ids for column in self.references())

    def references(self) -> tuple[Column, ...]:
        """The columns of other relations that it refers to."""
        return (*free_columns(self.relation), *self._key_columns())

    def own_references(self, tables: CommonTables) -> tuple[Column, ...]:
        """Those that it refers to itself, and not by the WITH entries of the queries around it."""
        relation = self.relation
        for reference in outside_tables(relation, tables):
            relation = replace_relation(relation, reference, Values(reference.fields, ()))
        return (*free_columns(relation), *self._key_columns())

    def _key_columns(self) -> Iterator[Column]:
        return (column for value, _ in self.keys for column in columns(value))


def used_by(call: AggregateCall, lookups: Sequence[PendingLookup]) -> list[PendingLookup]:
    """The subqueries whose values the aggregate's arguments are made of, in their order."""
    wanted = {column.id for column in columns(call)}
    used: list[PendingLookup] = []
    for pending in reversed(lookups):
        if any(field.id in wanted for field in pending.relation.fields):
            used.insert(0, pending)
            wanted.update(column.id for column in pending.references())
    return used


def outside_tables(relation: Relation, tables: CommonTables) -> Iterator[CteRef | WorkTable]:
    """Where a subquery reads WITH entries of the queries around it."""
    if isinstance(relation, CteRef | WorkTable) and is_of(relation, tables):
        yield relation
        return
    for source in inputs(relation).values():
        yield from outside_tables(source, tables)


def is_of(reference: CteRef | WorkTable, tables: CommonTables) -> bool:
    """Whether a reference is to one of these WITH entries."""
    if isinstance(reference, CteRef):
        return any(table.relation is reference.input for table in tables.values())
    return any(
        isinstance(each.relation, WorkTable) and each.relation.table == reference.table for each in tables.values()
    )
