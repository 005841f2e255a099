"""Bound scalars -> Polars expressions over frames whose columns are named by their identifiers."""

from dataclasses import dataclass

import polars as pl

from query import fault
from query.bound import (
    Among,
    ArrayOf,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Constant,
    IsNull,
    Logic,
    Not,
    RowOf,
    Scalar,
)
from query.functions.registry import REGISTRY
from query.lower.casts import convert
from query.lower.site import CallSite
from query.lower.values import literal, series_of


def expression(scalar: Scalar, guard: pl.Expr | None = None) -> pl.Expr:
    """The expression that computes `scalar`. Errors are raised for rows where `guard` holds only."""
    return _Scalars(guard).lower(scalar)


@dataclass(frozen=True, slots=True)
class _Scalars:
    guard: pl.Expr | None

    def lower(self, scalar: Scalar) -> pl.Expr:
        match scalar:
            case Column():
                return pl.col(scalar.id)
            case Constant():
                return literal(scalar)
            case Call():
                return self._call(scalar)
            case Cast():
                return self._cast(scalar)
            case Case():
                return self._case(scalar)
            case Coalesce():
                return self._coalesce(scalar)
            case Logic():
                return self._logic(scalar)
            case Not():
                return ~self.lower(scalar.value)
            case IsNull():
                return self.lower(scalar.value).is_null()
            case Among():
                return self._among(scalar)
            case ArrayOf():
                return self._array(scalar)
            case RowOf():
                return pl.struct(self.lower(item).alias(f"f{index}") for index, item in enumerate(scalar.items))
            case _:
                raise fault.unsupported(type(scalar).__name__)

    def _call(self, scalar: Call) -> pl.Expr:
        function = REGISTRY.get(scalar.function)
        site = CallSite(tuple(arg.type for arg in scalar.args), scalar.type, scalar.position, self.guard)
        args: list[object] = []
        for index, arg in enumerate(scalar.args):
            constant = function.parameter(index).constant
            args.append(arg.value if constant and isinstance(arg, Constant) else self.lower(arg))
        if any(
            function.parameter(index).constant and isinstance(arg, Constant) and arg.value is None
            for index, arg in enumerate(scalar.args)
        ):
            return pl.lit(None, dtype=scalar.type.polars)
        return function.build(site, *args)

    def _cast(self, scalar: Cast) -> pl.Expr:
        site = CallSite((scalar.value.type,), scalar.type, scalar.position, self.guard)
        return convert(site, self.lower(scalar.value), scalar)

    def _case(self, scalar: Case) -> pl.Expr:
        """Each branch is needed only where its condition is the first that holds."""
        open_rows = self.guard
        pairs: list[tuple[pl.Expr, pl.Expr]] = []
        for condition, value in scalar.branches:
            holds = _Scalars(open_rows).lower(condition).fill_null(False)
            pairs.append((holds, _Scalars(_both(open_rows, holds)).lower(value)))
            open_rows = _both(open_rows, ~holds)
        chain = pl.when(pairs[0][0]).then(pairs[0][1])
        for holds, value_expression in pairs[1:]:
            chain = chain.when(holds).then(value_expression)  # type: ignore[assignment]
        return chain.otherwise(_Scalars(open_rows).lower(scalar.default))

    def _coalesce(self, scalar: Coalesce) -> pl.Expr:
        open_rows, parts = self.guard, []
        for arg in scalar.args:
            part = _Scalars(open_rows).lower(arg)
            parts.append(part)
            open_rows = _both(open_rows, part.is_null())
        return pl.coalesce(parts)

    def _logic(self, scalar: Logic) -> pl.Expr:
        """AND and OR; an operand cannot fail where those before it have decided."""
        open_rows, result = self.guard, None
        for operand in scalar.operands:
            part = _Scalars(open_rows).lower(operand)
            if scalar.operator == "and":
                result = part if result is None else result & part
                open_rows = _both(open_rows, part.fill_null(True))
            else:
                result = part if result is None else result | part
                open_rows = _both(open_rows, ~part.fill_null(False))
        return result if result is not None else pl.lit(True)

    def _among(self, scalar: Among) -> pl.Expr:
        value = self.lower(scalar.value)
        kind = scalar.value.type
        if not scalar.items:
            return pl.lit(None, dtype=pl.Boolean)
        if len(scalar.items) == 1:
            found = value == literal(Constant(kind, scalar.items[0]))
        else:
            found = value.is_in(series_of(scalar.items, kind).implode())
        return pl.when(found).then(True).otherwise(None) if scalar.has_null else found

    def _array(self, scalar: ArrayOf) -> pl.Expr:
        return pl.concat_list([self.lower(item) for item in scalar.items]).cast(scalar.type.polars)


def _both(guard: pl.Expr | None, more: pl.Expr) -> pl.Expr:
    return more if guard is None else guard & more
