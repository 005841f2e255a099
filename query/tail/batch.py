"""One batch of a tail: records of the log, as its reader may see them, through its statement to lines of JSON. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from columns import POLARS_TYPES, WIDER
from query import engine
from query.process.row_level_security import permitted_rows
from query.results import json_rows
from query.tail.log_reader import ARRIVAL, ORDINAL, Part
from query.tail.statement import Followed
from storage.exactly import exactly

_WIDER: Final = {POLARS_TYPES[narrow]: POLARS_TYPES[wide] for narrow, wide in WIDER.items()}


class Stale(Exception):
    """Records have `columns` that the view does not show, or shows with another type: it has to be taken anew.

    `before`: the numbers of the batch's records that arrived before the first of these.
    """

    def __init__(self, columns: Iterable[str], before: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.columns = sorted(columns)
        self.before = before


class Evaluation:
    """A tail's statement over one batch after another."""

    def __init__(self, followed: Followed) -> None:
        view = followed.view
        self._followed = followed
        self._types = {column.stored: POLARS_TYPES[column.type] for column in view.schema.columns}
        stored_tags = [(view.schema.stored(name), value) for name, value in view.permitted_tags or ()]
        self._tags = frozenset((name, value) for name, value in stored_tags if name is not None)
        self._is_narrowed = view.permitted_tags is not None
        # Only then can a column that the view lacks be meant by the statement: by its `*`.
        self._shows_all = followed.needed.keys() >= view.visible & self._types.keys()
        wanted = followed.needed.keys() | {ARRIVAL} | {name for name, _ in self._tags}
        self._wanted = {name: dtype for name, dtype in self._types.items() if name in wanted}

    @property
    def columns(self) -> frozenset[str] | None:
        """The columns that have to be decoded; None: all."""
        return None if self._is_narrowed and self._shows_all else frozenset(self._wanted)

    def lines(self, parts: Sequence[Part], *, send_null: bool) -> list[bytes]:
        """The rows that the statement gives, as JSON, in the order of the log. Raises Stale, WeirError."""
        if not parts:
            return []
        try:
            rows = pl.concat(self._all_visible(parts))
            # By arrival: whoever waited for one acknowledgement before sending the next event sees them in this order,
            # whichever workers took them.
            ordered = rows.sort(ARRIVAL, ORDINAL, maintain_order=True)
            compiled = self._followed.over(ordered.select(map(exactly, self._followed.needed)))
            answer = compiled.frame.collect(engine="in-memory")
            types = [field.type for field in compiled.fields]
            return _split(json_rows.lines(answer, types, send_null=send_null)) if answer.height else []
        except Stale:
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            raise engine.translate(error) from error

    def _all_visible(self, parts: Sequence[Part]) -> list[pl.DataFrame]:
        """Raises Stale."""
        visible: list[pl.DataFrame] = []
        stale: list[Part] = []
        columns: set[str] = set()
        for part in parts:
            try:
                visible.append(self._visible(part))
            except Stale as error:
                stale.append(part)
                columns.update(error.columns)
        if stale:
            raise Stale(columns, _records_before(stale, parts))
        return visible

    def _visible(self, part: Part) -> pl.DataFrame:
        """The rows that the reader may see, in the view's types. No expression of theirs gets any other row."""
        self._refuse_changed(part.columns)
        new = part.columns.keys() - self._followed.view.visible - self._followed.view.unknown
        if not self._is_narrowed:
            if new and self._shows_all:
                raise Stale(new)
            return self._conform(part)
        # A column that only hidden rows have would tell of them.
        candidates = sorted(new & set(part.rows.columns)) if self._shows_all else []
        marked = self._conform(part).hstack([part.rows[name].is_not_null().alias(f"\0{name}") for name in candidates])
        permitted = permitted_rows(marked.lazy(), self._tags).collect()
        if seen := [name for name in candidates if permitted[f"\0{name}"].any()]:
            raise Stale(seen)
        return permitted.drop([f"\0{name}" for name in candidates])

    def _refuse_changed(self, columns: Mapping[str, pl.DataType]) -> None:
        """Raises Stale for columns that have become wider since the view was taken."""
        unknown = self._followed.view.unknown
        changed = [
            name
            for name, dtype in self._wanted.items()
            if name in columns and columns[name] != dtype and _WIDER.get(columns[name]) != dtype and name not in unknown
        ]
        if changed:
            raise Stale(changed)

    def _conform(self, part: Part) -> pl.DataFrame:
        """The wanted columns and the records' numbers; what the records lack is null."""
        present = part.rows.schema.keys() - self._followed.view.unknown
        return part.rows.select(
            *(
                exactly(name).cast(dtype) if name in present else pl.lit(None, dtype=dtype).alias(name)
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


def _split(lines: bytes) -> list[bytes]:
    """The lines, each without line feed. A bare carriage return, which JSON may have between its tokens, ends a line
    of server-sent events too."""
    return lines[:-1].replace(b"\r", b" ").split(b"\n")
