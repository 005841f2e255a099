"""Questions for the first rows in the order of time: `ORDER BY timestamp DESC LIMIT 100` over a scan and filters.

Files are bounded in time, so such a question need not read them all: once enough rows are found in the newest files,
older files cannot have one of the first rows. What the plan says is here; `query/process/newest_files.py` reads.
"""

from dataclasses import dataclass

import polars as pl

from query.lower.relations import Lowering
from query.lower.statements import Statements
from query.lower.top_n_filter import is_stored
from query.plan.traverse import scans
from query.plan.tree import Column, Filter, Limit, Project, Relation, Scan, Sort


@dataclass(frozen=True, slots=True)
class FirstByTime:
    """A question for the first `count` rows of `source` by the stored column `name`, which is `key` there.

    `source` merely reads rows of `dataset`, which the statement reads nowhere else, and none of its filters can fail.
    """

    dataset: str
    source: Relation
    key: str
    name: str
    count: int
    descending: bool

    def values(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The column's values in those of the rows that the filters leave."""
        frame = Lowering({self.dataset: rows}, Statements(), {}, {}).frame(self.source)
        return frame.select(pl.col(self.key).alias(self.name))


def first_by_time(relation: Relation) -> FirstByTime | None:
    """The question that the statement is; None if it is another one."""
    while isinstance(relation, Project):
        relation = relation.input
    if not isinstance(relation, Limit) or relation.count is None or relation.ties:
        return None
    order = relation.input
    if not isinstance(order, Sort) or not is_stored(order.input):
        return None
    key = order.keys[0]
    read = list(scans(order.input))
    if not isinstance(key.value, Column) or len(read) != 1:
        return None
    name = _stored_name(order.input, key.value.id)
    if name is None:
        return None
    count = relation.count + relation.offset
    return FirstByTime(read[0].dataset, order.input, key.value.id, name, count, key.descending)


def _stored_name(relation: Relation, column: str) -> str | None:
    """What the scan calls the column; None if it is made on the way."""
    match relation:
        case Scan():
            names = {field.id: name for name, field in zip(relation.names, relation.fields, strict=True)}
            return names.get(column)
        case Filter():
            return _stored_name(relation.input, column)
        case Project():
            values = {field.id: value for field, value in zip(relation.fields, relation.values, strict=True)}
            value = values.get(column)
            return _stored_name(relation.input, value.id) if isinstance(value, Column) else None
        case _:
            return None
