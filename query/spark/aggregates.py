"""Aggregates that Spark computes exactly as PostgreSQL does, and what is left to do with their results here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from query.expr.aggregate_inputs import mean
from query.pg.types import NUMERIC, PgType
from query.plan.tree import AggregateCall, Field
from query.spark import messages, types
from query.spark.refusal import NotOnCluster
from query.spark.scalars import Scalars

Finish = Callable[[Field], pl.Expr]
_ALWAYS: Final = Scalars(may_fail=True)
_WITHIN: Final = Scalars()
# Of 64-bit integers: with these digits 10^9 of the largest sum up without an overflow, which would be an error.
_WIDE: Final = "DECIMAL(28,0)"
_LONG: Final = "DECIMAL(19,0)"
_HALF: Final = 32
"""Bits of half a 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Spark's columns of a call, by name; `finish` makes the value of them where it is not the only one."""

    values: dict[str, Any]
    finish: Finish | None = None


def columns(call: AggregateCall, output: Field) -> Columns:
    """The call as columns of an aggregation. Raises NotOnCluster."""
    kinds = ", ".join("any" if call.function == "count" else each.type.name for each in call.args)
    build = _BUILDERS.get(f"{call.function}({kinds})")
    if build is None or call.order or call.direct:
        raise NotOnCluster(f"the aggregate {call.function}", call.position)
    return build(call, output)


def _argument(call: AggregateCall) -> Any:
    """The argument where FILTER holds, else NULL, which all of these skip."""
    scalars = _ALWAYS if call.where is None else _WITHIN
    value = scalars.lower(call.args[0])
    types.require_plain(call.args[0].type)
    return _where(call, value)


def _where(call: AggregateCall, value: Any) -> Any:
    return value if call.where is None else messages.call("when", _WITHIN.lower(call.where), value)


def _one(function: str) -> Callable[[AggregateCall, Field], Columns]:
    def build(call: AggregateCall, output: Field) -> Columns:
        return Columns({output.id: messages.call(function, _argument(call), is_distinct=call.distinct)})

    return build


def _count_rows(call: AggregateCall, output: Field) -> Columns:
    return Columns({output.id: messages.call("count", _where(call, messages.literal(integer=1)))})


def _wide_sum(call: AggregateCall, output: Field) -> Columns:
    return Columns({output.id: _summed(call)})


def _summed(call: AggregateCall) -> Any:
    """The sum of integers. Of 64-bit ones that is a decimal, which Spark makes an object of for each row; the sums of
    their halves are 64-bit integers, of up to 2^31 rows, beyond which Spark reports an overflow."""
    value = _argument(call)
    if call.args[0].type.name != "int8":
        return messages.cast(messages.call("sum", value, is_distinct=call.distinct), types.SUMMED)
    if call.distinct:
        return messages.cast(messages.call("sum", messages.cast(value, _WIDE), is_distinct=True), types.SUMMED)
    high = messages.call("sum", messages.call("shiftright", value, messages.literal(integer=_HALF)))
    low = messages.call("sum", messages.call("&", value, messages.literal(long=2**_HALF - 1)))
    shifted = messages.call("*", messages.cast(high, _LONG), messages.cast(messages.literal(long=2**_HALF), _LONG))
    return messages.cast(messages.call("+", shifted, messages.cast(low, _LONG)), types.SUMMED)


def _integer_mean(call: AggregateCall, output: Field) -> Columns:
    total, count = f"{output.id}s", f"{output.id}n"
    values = {total: _summed(call), count: messages.call("count", _argument(call), is_distinct=call.distinct)}

    def finish(field: Field) -> pl.Expr:
        divided = mean(pl.col(total).cast(pl.Int128()), pl.col(count), _SUM_TYPE, field.type.scale)
        return divided.cast(field.type.polars)

    return Columns(values, finish)


_SUM_TYPE: Final[PgType] = NUMERIC
_BUILDERS: Final[dict[str, Callable[[AggregateCall, Field], Columns]]] = {
    "count()": _count_rows,
    "count(any)": _one("count"),
    "sum(int2)": _one("sum"),
    "sum(int4)": _one("sum"),
    "sum(int8)": _wide_sum,
    "sum(float8)": _one("sum"),
    "avg(float8)": _one("avg"),
    "avg(int2)": _integer_mean,
    "avg(int4)": _integer_mean,
    "avg(int8)": _integer_mean,
    **{
        f"{name}({kind})": _one(name)
        for name in ("min", "max")
        for kind in ("int2", "int4", "int8", "float8", "text", "date", "timestamp", "timestamptz")
    },
    **{f"{name}({kind})": _one(name) for name in ("bit_and", "bit_or", "bit_xor") for kind in ("int2", "int4", "int8")},
    "bool_and(bool)": _one("bool_and"),
    "every(bool)": _one("bool_and"),
    "bool_or(bool)": _one("bool_or"),
}
