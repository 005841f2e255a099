"""The rows of a batch as the readers of one view may see them: arranged once for all statements over that view."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from columns import POLARS_TYPES, WIDER
from query.process.row_level_security import permitted_rows
from query.tail.log_reader import ARRIVAL, ORDINAL, LogReader, Part
from query.tail.messages import View
from query.tail.position import Range
from storage.exactly import exactly

_WIDER: Final = {POLARS_TYPES[narrow]: POLARS_TYPES[wide] for narrow, wide in WIDER.items()}
# Batches kept for the next tails at the same place.
MOST_KEPT: Final = 4


class Stale(Exception):
    """Records have `columns` that the view does not show, or shows with another type: it has to be taken anew.

    `before`: the numbers of the batch's records that arrived before the first of these.
    """

    def __init__(self, columns: Iterable[str], before: frozenset[int]) -> None:
        super().__init__()
        self.columns = sorted(columns)
        self.before = before


@dataclass(frozen=True, slots=True)
class Arranged:
    """Rows in the order of their arrival. `stale`: what somebody has to know who shows all columns."""

    rows: pl.DataFrame
    stale: Stale | None = None


class ViewRows:
    """The rows of one view, batch after batch. Statements say by `want` which columns they need."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._types = {column.stored: POLARS_TYPES[column.type] for column in view.schema.columns}
        stored_tags = [(view.schema.stored(name), value) for name, value in view.permitted_tags or ()]
        self._tags = frozenset((name, value) for name, value in stored_tags if name is not None)
        self._is_narrowed = view.permitted_tags is not None
        self._wanted = {ARRIVAL: self._types[ARRIVAL]} | {name: self._types[name] for name, _ in self._tags}
        self._shows_all = False
        self._kept: OrderedDict[tuple[Range, ...], Arranged] = OrderedDict()

    def want(self, columns: Iterable[str]) -> bool:
        """From now on these columns are there too. Whether they are all that the view shows, as `*` does."""
        wanted = frozenset(columns)
        if not wanted <= self._wanted.keys():
            self._kept.clear()
            self._wanted |= {name: self._types[name] for name in wanted}
        shows_all = wanted >= self.view.visible & self._types.keys()
        if shows_all and not self._shows_all:
            self._kept.clear()
            self._shows_all = True
        return shows_all

    def arrange(self, reader: LogReader, ranges: Sequence[Range]) -> Arranged:
        """The rows of the ranges that may be seen, with the wanted columns. Raises Stale, and as `LogReader.read`."""
        key = tuple(ranges)
        arranged = self._kept.get(key)
        if arranged is None:
            # Of a narrowed reader's rows it has to be known in which columns they have a value.
            columns = None if self._is_narrowed and self._shows_all else self._wanted
            arranged = self._arrange(reader.read(self.view.schema.dataset_id, ranges, columns))
            self._kept[key] = arranged
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return arranged

    def _arrange(self, parts: Sequence[Part]) -> Arranged:
        self._refuse_changed(parts)
        frames, new = [], {}
        for part in parts:
            rows, seen = self._visible(part)
            frames.append(rows)
            if seen:
                new[id(part)] = seen
        stale = [part for part in parts if id(part) in new]
        # By arrival: whoever waited for one acknowledgement before sending the next event sees them in this order,
        # whichever workers took them.
        rows = pl.concat(frames).sort(ARRIVAL, ORDINAL, maintain_order=True)
        columns = {name for seen in new.values() for name in seen}
        return Arranged(rows, Stale(columns, _records_before(stale, parts)) if stale else None)

    def _visible(self, part: Part) -> tuple[pl.DataFrame, Iterable[str]]:
        """The rows that may be seen, and the columns that they have and the view does not show.

        No expression of a narrowed reader gets another row, and a column that only other rows have would tell of them.
        """
        new = part.columns.keys() - self.view.visible - self.view.unknown
        conformed = self._conform(part)
        if not self._is_narrowed:
            return conformed, new
        marks = {f"\0{name}": name for name in sorted(new & set(part.rows.columns))}
        marked = conformed.hstack([part.rows[name].is_not_null().alias(mark) for mark, name in marks.items()])
        permitted = permitted_rows(marked.lazy(), self._tags).collect()
        return permitted.drop(marks), [name for mark, name in marks.items() if permitted[mark].any()]

    def _refuse_changed(self, parts: Sequence[Part]) -> None:
        """Raises Stale for columns that have become wider since the view was taken."""
        changed = {id(part): [name for name in self._wanted if self._has_changed(part, name)] for part in parts}
        stale = [part for part in parts if changed[id(part)]]
        if stale:
            raise Stale({name for part in stale for name in changed[id(part)]}, _records_before(stale, parts))

    def _has_changed(self, part: Part, name: str) -> bool:
        stored, shown = part.columns.get(name), self._wanted[name]
        fits = stored is None or stored == shown or _WIDER.get(stored) == shown
        return not fits and name not in self.view.unknown

    def _conform(self, part: Part) -> pl.DataFrame:
        """The wanted columns and the records' numbers; what the records lack is null."""
        present = part.rows.schema.keys() - self.view.unknown
        types: Mapping[str, pl.DataType] = part.rows.schema
        return part.rows.select(
            *(
                pl.lit(None, dtype=dtype).alias(name)
                if name not in present
                else exactly(name)
                if types[name] == dtype
                else exactly(name).cast(dtype)
                for name, dtype in self._wanted.items()
            ),
            pl.col(ORDINAL),
        )


def _records_before(stale: Sequence[Part], parts: Sequence[Part]) -> frozenset[int]:
    """The numbers of the records that arrived before any of the stale parts."""
    first = pl.concat([part.rows.select(ARRIVAL) for part in stale]).select(pl.col(ARRIVAL).min()).item()
    arrived = pl.concat([part.rows.select(ORDINAL, ARRIVAL) for part in parts])
    latest = arrived.group_by(ORDINAL).agg(pl.col(ARRIVAL).max())
    return frozenset(latest.filter(pl.col(ARRIVAL) < first)[ORDINAL].to_list())
