"""Columns computed ahead of an expression, so that what is used twice is computed once.

A function's expression may mention its arguments several times (to check a range, to find NULLs), and Polars has no
expression that names a value. Written out, the arguments of nested calls would be copied at every level, and so would
the condition under which a value is needed: both grow exponentially with the depth of the user's expression. A stage
puts such values into helper columns, which `before` adds to the frame that the expression is evaluated over.
"""

from dataclasses import dataclass, field

import polars as pl

from query.expr.guards import Guard
from query.plan.traverse import children, columns
from query.plan.tree import Cast, Column, Constant, RowOf, Scalar

_DEEP = 2
"""Levels of calls from which on an argument is worth a column of its own."""


@dataclass(slots=True, eq=False)
class Stage:
    """The helper columns of one step over a frame. Names are unique within the step only."""

    _levels: dict[str, int] = field(default_factory=dict)
    _columns: list[list[pl.Expr]] = field(default_factory=list)
    _known: dict[tuple[Scalar, Guard | None], pl.Expr] = field(default_factory=dict)
    _depths: dict[int, tuple[Scalar, int]] = field(default_factory=dict)

    def keep(self, value: pl.Expr) -> pl.Expr:
        """The helper column that holds `value`."""
        input_levels = (self._levels.get(name, -1) for name in value.meta.root_names())
        level, name = max(input_levels, default=-1) + 1, f"h{len(self._levels)}"
        if level == len(self._columns):
            self._columns.append([])
        self._columns[level].append(value.alias(name))
        self._levels[name] = level
        return pl.col(name)

    def remember(self, scalar: Scalar, guard: Guard | None, value: pl.Expr) -> pl.Expr:
        """Keeps the value of a scalar for its next use under this guard or a narrower one."""
        column = self.keep(value)
        self._known[scalar, guard] = column
        return column

    def known(self, scalar: Scalar, guard: Guard | None) -> pl.Expr | None:
        """The column of a scalar that was computed for at least the rows of the guard."""
        if not self._known:
            return None
        while True:
            column = self._known.get((scalar, guard))
            if column is not None or guard is None:
                return column
            guard = guard.outer

    def is_deep(self, scalar: Scalar) -> bool:
        """True for a value that should not be written out twice."""
        if isinstance(scalar, Column | Constant | RowOf):
            return False
        costly = isinstance(scalar, Cast) and scalar.type.name == "jsonb"
        return (costly or self._depth(scalar) >= _DEEP) and any(True for _ in columns(scalar))

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

    def before(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame with the helper columns."""
        for level in self._columns:
            frame = frame.with_columns(level)
        return frame

    def after(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame without them."""
        return frame.drop(list(self._levels)) if self._levels else frame
