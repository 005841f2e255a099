"""Columns computed ahead of an expression, so that what is used twice is computed once.

A function's expression may mention its arguments several times (to check a range, to find NULLs), and Polars has no
expression that names a value. Written out, the arguments of nested calls would be copied at every level, and so would
the condition under which a value is needed: both grow exponentially with the depth of the user's expression. Such
values become helper columns, which `add_to` adds to the frame that the expression is evaluated over.
"""

from dataclasses import dataclass, field

import polars as pl

from query.expr.needed_rows import NeededRows
from query.plan.traverse import children, columns
from query.plan.tree import Cast, Column, Constant, RowOf, Scalar

_DEEP = 2
"""Levels of calls from which on an argument is worth a column of its own."""


@dataclass(slots=True, eq=False)
class CommonSubexpressions:
    """The helper columns of one step over a frame. Names are unique within the step only."""

    _levels: dict[str, int] = field(default_factory=dict)
    _columns: list[list[pl.Expr]] = field(default_factory=list)
    _by_scalar: dict[tuple[Scalar, NeededRows | None], pl.Expr] = field(default_factory=dict)
    _depths: dict[int, tuple[Scalar, int]] = field(default_factory=dict)
    _volatile: set[str] = field(default_factory=set)
    _volatile_columns: dict[int, tuple[Scalar, pl.Expr]] = field(default_factory=dict)

    def add_column(self, value: pl.Expr) -> pl.Expr:
        """The helper column that holds `value`."""
        input_levels = (self._levels.get(name, -1) for name in value.meta.root_names())
        level, name = max(input_levels, default=-1) + 1, f"h{len(self._levels)}"
        if level == len(self._columns):
            self._columns.append([])
        self._columns[level].append(value.alias(name))
        self._levels[name] = level
        return pl.col(name)

    def add(self, scalar: Scalar, needed_rows: NeededRows | None, value: pl.Expr) -> pl.Expr:
        """Give the value of a scalar a column, for its next use for these rows or some of them."""
        column = self.add_column(value)
        self._by_scalar[scalar, needed_rows] = column
        return column

    def add_volatile(self, scalar: Scalar, value: pl.Expr) -> pl.Expr:
        """Give a value that is another one each time a column: for this scalar, and none that equals it."""
        column = self.add_column(value)
        self._volatile.add(column.meta.output_name())
        self._volatile_columns[id(scalar)] = scalar, column
        return column

    def is_volatile(self, value: pl.Expr) -> bool:
        """Whether the value is made of one that is another one each time it is computed."""
        return bool(self._volatile) and not self._volatile.isdisjoint(value.meta.root_names())

    def find(self, scalar: Scalar, needed_rows: NeededRows | None) -> pl.Expr | None:
        """The column of a scalar that was computed for at least the needed rows."""
        if id(scalar) in self._volatile_columns:
            return self._volatile_columns[id(scalar)][1]
        if not self._by_scalar:
            return None
        while True:
            column = self._by_scalar.get((scalar, needed_rows))
            if column is not None or needed_rows is None:
                return column
            needed_rows = needed_rows.outer

    def is_deep(self, scalar: Scalar) -> bool:
        """True for a value that should not be written out twice."""
        if isinstance(scalar, Column | Constant | RowOf):
            return False
        costly = isinstance(scalar, Cast) and scalar.type.name == "jsonb"
        return costly or self._depth(scalar) >= _DEEP

    def is_nested(self, scalar: Scalar) -> bool:
        """True for a call of calls."""
        if isinstance(scalar, Column | Constant | RowOf):
            return False
        plain = all(isinstance(child, Column | Constant) for child in children(scalar))
        return not plain and any(True for _ in columns(scalar))

    def _depth(self, scalar: object) -> int:
        """Levels of calls down to plain columns or to arguments that have a helper column."""
        if isinstance(scalar, Column | Constant) or not isinstance(scalar, Scalar):
            return 0
        entry = self._depths.get(id(scalar))
        if entry is None:
            below = max((self._depth(child) for child in children(scalar)), default=0)
            entry = scalar, 1 + (0 if below >= _DEEP else below)
            self._depths[id(scalar)] = entry
        return entry[1]

    def add_to(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame with the helper columns."""
        for level in self._columns:
            frame = frame.with_columns(level)
        return frame

    def drop_from(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame without the helper columns."""
        return frame.drop(list(self._levels)) if self._levels else frame
