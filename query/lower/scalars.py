"""Bound scalars -> Polars expressions over frames whose columns are named by their identifiers."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.common_subexpressions import CommonSubexpressions
from query.expr.dimensions import array_of_arrays
from query.expr.literals import literal, series_of
from query.expr.needed_rows import NeededRows
from query.expr.sort_keys import sort_key
from query.functions.registry import REGISTRY
from query.lower.casts import convert
from query.lower.special_numbers import by_case, is_computed
from query.plan.tree import (
    ArrayOf,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Constant,
    InList,
    IsNull,
    Logic,
    Not,
    RowOf,
    Scalar,
)


def expression(
    scalar: Scalar, subexpressions: CommonSubexpressions | None = None, where: pl.Expr | None = None
) -> pl.Expr:
    """The expression that computes `scalar`, over a frame with the columns of `subexpressions`, if any.

    Errors are raised for rows where `where` holds only.
    """
    return _Scalars(None if where is None else NeededRows(where, None, subexpressions), subexpressions).argument(scalar)


def is_null(call: Call) -> bool:
    """True for a call that is NULL whatever its other arguments are: one is NULL, and the function is strict in it."""
    if call.function == "grouping":
        return False
    function = REGISTRY.get(call.function)
    return any(
        isinstance(arg, Constant) and arg.value is None and (function.strict or function.parameter(index).constant)
        for index, arg in enumerate(call.args)
    )


def is_volatile(call: Call) -> bool:
    """True for a call whose value differs between calls."""
    return call.function != "grouping" and REGISTRY.get(call.function).volatile


def with_values(frame: pl.LazyFrame, values: Mapping[str, Scalar]) -> pl.LazyFrame:
    """The frame with the values as further columns."""
    subexpressions = CommonSubexpressions()
    columns = [expression(value, subexpressions).alias(name) for name, value in values.items()]
    return subexpressions.drop_from(subexpressions.add_to(frame).with_columns(columns))


@dataclass(frozen=True, slots=True)
class _Scalars:
    needed_rows: NeededRows | None
    subexpressions: CommonSubexpressions | None

    def argument(self, scalar: Scalar, is_costly: bool = False) -> pl.Expr:
        """A value that is about to be used, more than once perhaps; surely if it `is_costly`."""
        if self.subexpressions is None or isinstance(scalar, Column | Constant):
            return self.lower(scalar)
        column = self.subexpressions.find(scalar, self.needed_rows)
        if column is not None:
            return column
        value = self.lower(scalar)
        if (isinstance(scalar, Call) and is_volatile(scalar)) or self.subexpressions.is_volatile(value):
            return self.subexpressions.add_volatile(scalar, value)
        if not is_costly and not self.subexpressions.is_deep(scalar):
            return value
        return self.subexpressions.add(scalar, self.needed_rows, value)

    def within(self, holds: pl.Expr) -> "_Scalars":
        """For values that are needed only where `holds`."""
        return _Scalars(NeededRows(holds, self.needed_rows, self.subexpressions), self.subexpressions)

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
                return ~self.argument(scalar.value)
            case IsNull():
                return self.argument(scalar.value).is_null()
            case InList():
                return self._among(scalar)
            case ArrayOf():
                return self._array(scalar)
            case RowOf():
                if not scalar.items:
                    raise fault.unsupported("a row without fields")
                row = pl.struct(self.argument(item).alias(f"f{index}") for index, item in enumerate(scalar.items))
                return row if scalar.presence is None else pl.when(self.argument(scalar.presence)).then(row)
            case _:
                raise fault.unsupported(type(scalar).__name__)

    def _call(self, scalar: Call) -> pl.Expr:
        if is_computed(scalar):
            return self.lower(by_case(scalar))
        function = REGISTRY.get(scalar.function)
        if is_null(scalar):
            return pl.lit(None, dtype=scalar.type.polars)
        args: list[object] = []
        for index, arg in enumerate(scalar.args):
            constant = function.parameter(index).constant and isinstance(arg, Constant)
            args.append(arg.value if constant and isinstance(arg, Constant) else self.argument(arg, arg.type.special))
        columns = [arg for arg, given in zip(args, scalar.args, strict=True) if not isinstance(given, Constant)]
        if not function.skips_null_rows or not columns:
            return function.build(self._site(scalar), *args)
        present = pl.all_horizontal(arg.is_not_null() for arg in columns if isinstance(arg, pl.Expr))
        return pl.when(present).then(function.build(self.within(present)._site(scalar), *args))

    def _site(self, call: Call) -> CallContext:
        constants = tuple(arg.value if isinstance(arg, Constant) else None for arg in call.args)
        return CallContext(tuple(arg.type for arg in call.args), call.type, call.position, self.needed_rows, constants)

    def _cast(self, scalar: Cast) -> pl.Expr:
        context = CallContext((scalar.value.type,), scalar.type, scalar.position, self.needed_rows)
        # Reading a text mentions it several times: the common spelling, what is left, and whether it is there.
        reads = isinstance(scalar.value, Call) and scalar.value.type.name == "text" and scalar.type.name != "text"
        value = self.argument(scalar.value, is_costly=reads or scalar.value.type.special)
        return convert(context, value, scalar)

    def _case(self, scalar: Case) -> pl.Expr:
        """Each branch is needed only where its condition is the first that holds."""
        rest, pairs = self, list[tuple[pl.Expr, pl.Expr]]()
        for condition, value in scalar.branches:
            holds = rest.argument(condition).fill_null(False)
            pairs.append((holds, rest.within(holds).argument(value)))
            rest = rest.within(~holds)
        chain = pl.when(pairs[0][0]).then(pairs[0][1])
        for holds, value_expression in pairs[1:]:
            chain = chain.when(holds).then(value_expression)  # type: ignore[assignment]
        return chain.otherwise(rest.argument(scalar.default))

    def _coalesce(self, scalar: Coalesce) -> pl.Expr:
        rest, parts = self, []
        for arg in scalar.args:
            part = rest.argument(arg)
            parts.append(part)
            rest = rest.within(part.is_null())
        return pl.coalesce(parts)

    def _logic(self, scalar: Logic) -> pl.Expr:
        """AND and OR; an operand cannot fail where those before it have decided."""
        rest, result = self, None
        for operand in scalar.operands:
            part = rest.argument(operand)
            if scalar.operator == "and":
                result = part if result is None else result & part
                rest = rest.within(part.fill_null(True))
            else:
                result = part if result is None else result | part
                rest = rest.within(~part.fill_null(False))
        return result if result is not None else pl.lit(True)

    def _among(self, scalar: InList) -> pl.Expr:
        value = self.argument(scalar.value)
        pg_type = scalar.value.type
        if not scalar.items:
            return pl.lit(None, dtype=pl.Boolean)
        if len(scalar.items) == 1:
            is_member = value == literal(Constant(pg_type, scalar.items[0]))
        else:
            is_member = value.is_in(series_of(scalar.items, pg_type).implode())
        return pl.when(is_member).then(True).otherwise(None) if scalar.has_null else is_member

    def _array(self, scalar: ArrayOf) -> pl.Expr:
        element = scalar.type.element
        if element is None or element.element is None:
            return pl.concat_list([self.argument(item) for item in scalar.items]).cast(scalar.type.polars)
        # The sizes of what an array of arrays holds are compared: each is mentioned once for each of its dimensions.
        items = [self.argument(item, is_costly=True) for item in scalar.items]
        context = CallContext(tuple(item.type for item in scalar.items), scalar.type, None, self.needed_rows)
        return array_of_arrays(context, items, element)


def sort_value(value: Scalar, subexpressions: CommonSubexpressions | None = None) -> pl.Expr:
    """The sort key of a value."""
    return sort_key(expression(value, subexpressions), value.type)
