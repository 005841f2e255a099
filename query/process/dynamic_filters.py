"""Joins on few keys: the rows of the one side are asked for first, and their keys are conditions on the other.

The rows that came are the side's answer in the statement, too, so nothing is computed twice, and no two answers differ.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from query.engine import Table
from query.lower.constant_folding import is_volatile
from query.plan.dynamic_filters import KeyedJoin, keyed_joins, with_known_rows
from query.plan.traverse import scans
from query.plan.tree import Column, Query, Relation
from query.process.dataset_view import DatasetView, scan_size

# A side of more rows is joined as ever.
MOST_ROWS: Final = 1_000
# More keys are a condition that costs more than it saves: each is looked for in each text index.
MOST_KEYS: Final = 200
# Less is read as fast as it is asked for.
LEAST_BYTES: Final = 4 * 1024 * 1024
# A side that is read in vain, since it has too many rows, is stopped after these if it streams. One that does not
# may read this share of what the other reads.
MOST_SHARE: Final = 0.25
MOST_JOINS: Final = 3

Views = dict[str, DatasetView]
Narrow = Callable[[Relation], Views]
"""The views of the datasets that a relation reads, with what its own conditions leave of them."""
Tables = Mapping[str, Table]
Keys = tuple[tuple[Column, Column], ...]
Run = Callable[[Relation, Views, Tables], pl.LazyFrame]


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """A query that takes sides of its joins from `tables`, and what would be read of its datasets.

    `asked` are the views that the tables were read from.
    """

    query: Query
    views: Views
    tables: Tables = field(default_factory=dict)
    asked: tuple[DatasetView, ...] = ()


def known_keys(query: Query, views: Views, narrow: Narrow, run: Run) -> KnownKeys:
    """The query with those sides of its joins that are asked for first. Its `views` are as they were.

    Raises what the sides raise, SnapshotExpired, FileNotFoundError.
    """
    known, tried = KnownKeys(query, views), set[Keys]()
    for number in range(MOST_JOINS):
        chosen = _cheapest(known, narrow, tried)
        if chosen is None:
            break
        join, parts = chosen
        needed = join.needed(known.query.relation)
        rows = run(join.source, parts, known.tables).select(needed).head(MOST_ROWS + 1).collect(engine="streaming")
        if rows.height <= MOST_ROWS:
            # No dataset has such a name.
            known = _with_rows(known, join, rows, f"{join.dataset}\0keys{number}", parts)
    return known


def _with_rows(known: KnownKeys, join: KeyedJoin, rows: pl.DataFrame, table: str, parts: Views) -> KnownKeys:
    values = {key.id: rows.get_column(key.id).drop_nulls().unique() for key, _ in join.keys}
    few = {name: each.to_list() for name, each in values.items() if len(each) <= MOST_KEYS}
    relation = with_known_rows(known.query.relation, join, table, few)
    unused = [field for field in join.build.fields if field.id not in rows.columns]
    rows = rows.with_columns(pl.lit(None, field.type.polars).alias(field.id) for field in unused)
    tables = {**known.tables, table: Table(rows.lazy())}
    query = replace(known.query, relation=relation)
    return replace(known, query=query, tables=tables, asked=(*known.asked, *parts.values()))


def _cheapest(known: KnownKeys, narrow: Narrow, tried: set[Keys]) -> tuple[KeyedJoin, Views] | None:
    """The join whose source reads least, of those that may be worth it; it is tried from now on."""
    found = {size: (join, parts) for size, join, parts in _worthwhile(known, narrow, tried)}
    if not found:
        return None
    join, parts = found[min(found)]
    tried.add(join.keys)
    return join, parts


def _worthwhile(known: KnownKeys, narrow: Narrow, tried: set[Keys]) -> Iterator[tuple[int, KeyedJoin, Views]]:
    available = known.views.keys() | known.tables
    for join in keyed_joins(known.query.relation):
        whole = _bytes(known.views, join.dataset)
        if join.keys in tried or join.dataset not in known.views or whole < LEAST_BYTES:
            continue
        if is_volatile(join.source) or not {scan.dataset for scan in scans(join.source)} <= available:
            continue
        parts = narrow(join.source)
        size = sum(_bytes(parts, name) for name in parts)
        if size <= (whole if join.streams else MOST_SHARE * whole):
            yield size, join, parts


def _bytes(views: Mapping[str, DatasetView], dataset: str) -> int:
    return scan_size([views[dataset].snapshot])["bytes"] if dataset in views else 0
