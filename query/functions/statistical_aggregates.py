"""Aggregates that are statistics: spreads, correlations and regressions, and sums of intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Final

import polars as pl

from query.expr.aggregate_inputs import AggregateInputs
from query.expr.aggregate_plans import Plan
from query.expr.call_context import CallContext
from query.expr.intervals import checked_interval
from query.expr.row_errors import declared_error, fail_where
from query.functions.quotient_text import shown_scale
from query.functions.registry import aggregate
from query.pg.intervals import DAY
from query.pg.types import INTEGERS, NUMERIC_DIGITS, PgType, numeric

_LARGEST_SQUARED: Final = 1.0e14
"""Beyond it the sum of the squares of many values could leave 128 bits."""

_SPREADS: Final = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")
_SPREAD_SCALE: Final = 16
_PARTS: Final = ("months", "days", "us")


@aggregate("; ".join(f"{name}(float8) -> float8" for name in _SPREADS), "Spread of the values around their mean.")
def _float_spread(inputs: AggregateInputs) -> Plan:
    """Variances and deviations of floats, as Polars computes them."""
    name = inputs.call.function
    column, value = inputs.column(), inputs.values()
    value, ddof = value.drop_nulls(), 0 if name.endswith("_pop") else 1
    spread = value.std(ddof=ddof) if name.startswith("stddev") else value.var(ddof=ddof)
    return Plan(
        (column,), (pl.when(value.count() > ddof).then(spread).alias(inputs.output.id),), pl.col(inputs.output.id)
    )


@aggregate(
    "; ".join(f"{name}({pg_type}) -> numeric" for name in _SPREADS for pg_type in (*INTEGERS, "numeric")),
    "Spread of the values around their mean.",
    result=lambda types: numeric(_SPREAD_SCALE, exact=False),
)
def _exact_spread(inputs: AggregateInputs) -> Plan:
    """(n * sum(x * x) - sum(x) ** 2) / (n * (n - 1)), and its root, with every digit."""
    call, output, pg_type = inputs.call, inputs.output, inputs.type
    column, value = inputs.column(), inputs.values()
    population, root = call.function.endswith("_pop"), call.function.startswith("stddev")
    total, squares, count = map(inputs.name, ("s", "q", "n"))
    wide = value.cast(pl.Int128)
    square = fail_where(wide * wide, value.cast(pl.Float64).abs() >= _LARGEST_SQUARED, "numeric_range", call.position)
    aggregates = (
        wide.sum().alias(total),
        square.sum().alias(squares),
        value.count().cast(pl.Int64).alias(count),
    )

    def compute(n: int, s: int, q: int) -> int | None:
        divisor = n * n if population else n * (n - 1)
        return (
            _spread(n * q - s * s, divisor, pg_type, output.type.scale, call.position, is_root=root)
            if divisor > 0
            else None
        )

    context = CallContext((pg_type,), output.type, call.position)
    result = context.rowwise(compute, pl.col(count), pl.col(total), pl.col(squares))
    return Plan((column.cast(pl.Int128),), aggregates, result)


def _spread(dividend: int, divisor: int, pg_type: PgType, scale: int, position: int | None, *, is_root: bool) -> int:
    """The quotient or its root, held with `scale` digits after the point, rounded to those that PostgreSQL shows: the
    root is that of the rounded quotient. Of a quotient below 1 it shows more than are held. Fails for one that has too
    many. Source: numeric.c, numeric_stddev_internal."""
    shown = shown_scale((dividend, 2 * pg_type.scale), (divisor, 0)) if dividend else 0
    with localcontext() as context:
        context.prec = 2 * NUMERIC_DIGITS
        unit = Decimal(1).scaleb(-shown)
        result = (Decimal(dividend).scaleb(-2 * pg_type.scale) / divisor).quantize(unit, "ROUND_HALF_UP")
        result = result.sqrt().quantize(unit, "ROUND_HALF_UP") if is_root else result
        held = result.scaleb(scale).to_integral_value("ROUND_HALF_UP")
    if held >= 10**NUMERIC_DIGITS:
        raise declared_error("numeric_range", position)
    return int(held)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The pairs (y, x) of a group of which both are present: how many, and their sums around the means."""

    y: pl.Expr
    x: pl.Expr

    @property
    def n(self) -> pl.Expr:
        return self.y.count()

    @property
    def sxx(self) -> pl.Expr:
        return _sum_of_products(self.x, self.x)

    @property
    def syy(self) -> pl.Expr:
        return _sum_of_products(self.y, self.y)

    @property
    def sxy(self) -> pl.Expr:
        return _sum_of_products(self.y, self.x)

    @property
    def slope(self) -> pl.Expr:
        return self.sxy / self.sxx


def _sum_of_products(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return ((left - left.mean()) * (right - right.mean())).sum()


Statistic = Callable[[_Pairs], pl.Expr]


def _of_pairs(name: str, summary: str, returned: str = "float8") -> Callable[[Statistic], Statistic]:
    """Registers a statistic of pairs of floats."""

    def register(statistic: Statistic) -> Statistic:
        def build(inputs: AggregateInputs) -> Plan:
            y, x = (inputs.mask(arg).cast(pl.Float64) for arg in inputs.call.args)
            both = y.is_not_null() & x.is_not_null()
            names = inputs.name("y"), inputs.name("x")
            columns = tuple(pl.when(both).then(value).alias(name) for value, name in zip((y, x), names, strict=True))
            result = statistic(_Pairs(pl.col(names[0]), pl.col(names[1])))
            return Plan(columns, (result.alias(inputs.output.id),), pl.col(inputs.output.id))

        aggregate(f"{name}(float8, float8) -> {returned}", summary)(build)
        return statistic

    return register


_PAIRED: Final = "Statistic of the pairs (y, x)."
_LINE: Final = "Least-squares line through the pairs (y, x)."


@_of_pairs("corr", _PAIRED)
def _corr(pairs: _Pairs) -> pl.Expr:
    known = (pairs.n > 0) & (pairs.sxx > 0) & (pairs.syy > 0)
    return pl.when(known).then((pairs.sxy / (pairs.sxx * pairs.syy).sqrt()).clip(-1.0, 1.0))


@_of_pairs("covar_pop", _PAIRED)
def _covar_pop(pairs: _Pairs) -> pl.Expr:
    return pl.when(pairs.n > 0).then(pairs.sxy / pairs.n)


@_of_pairs("covar_samp", _PAIRED)
def _covar_samp(pairs: _Pairs) -> pl.Expr:
    return pl.when(pairs.n > 1).then(pairs.sxy / (pairs.n - 1))


@_of_pairs("regr_count", "Number of pairs without NULL.", "int8")
def _regr_count(pairs: _Pairs) -> pl.Expr:
    return pairs.n.cast(pl.Int64)


@_of_pairs("regr_avgx", _PAIRED)
def _regr_avgx(pairs: _Pairs) -> pl.Expr:
    return pairs.x.mean()


@_of_pairs("regr_avgy", _PAIRED)
def _regr_avgy(pairs: _Pairs) -> pl.Expr:
    return pairs.y.mean()


@_of_pairs("regr_sxx", _PAIRED)
def _regr_sxx(pairs: _Pairs) -> pl.Expr:
    return pl.when(pairs.n > 0).then(pairs.sxx)


@_of_pairs("regr_syy", _PAIRED)
def _regr_syy(pairs: _Pairs) -> pl.Expr:
    return pl.when(pairs.n > 0).then(pairs.syy)


@_of_pairs("regr_sxy", _PAIRED)
def _regr_sxy(pairs: _Pairs) -> pl.Expr:
    return pl.when(pairs.n > 0).then(pairs.sxy)


@_of_pairs("regr_slope", _LINE)
def _regr_slope(pairs: _Pairs) -> pl.Expr:
    return pl.when((pairs.n > 0) & (pairs.sxx > 0)).then(pairs.slope)


@_of_pairs("regr_intercept", _LINE)
def _regr_intercept(pairs: _Pairs) -> pl.Expr:
    return pl.when((pairs.n > 0) & (pairs.sxx > 0)).then(pairs.y.mean() - pairs.slope * pairs.x.mean())


@_of_pairs("regr_r2", _LINE)
def _regr_r2(pairs: _Pairs) -> pl.Expr:
    share = pairs.sxy * pairs.sxy / (pairs.sxx * pairs.syy)
    is_defined = (pairs.n > 0) & (pairs.sxx > 0)
    return pl.when(is_defined).then(pl.when(pairs.syy == 0).then(1.0).otherwise(share))


@aggregate("sum(interval) -> interval", "Sum; NULL for no values.")
def _sum_of_intervals(inputs: AggregateInputs) -> Plan:
    return _interval_sum(inputs, average=False)


@aggregate("avg(interval) -> interval", "Mean; NULL for no values.")
def _mean_of_intervals(inputs: AggregateInputs) -> Plan:
    return _interval_sum(inputs, average=True)


def _interval_sum(inputs: AggregateInputs, average: bool) -> Plan:
    """Months, days and microseconds, each summed; a mean carries what a part leaves down to the next."""
    call, output = inputs.call, inputs.output
    column, value = inputs.column(), inputs.values()
    parts = {name: value.struct.field(name).cast(pl.Int128).sum().alias(inputs.name(name)) for name in _PARTS}
    count = pl.col(inputs.name("n"))
    months, days, us = (pl.col(inputs.name(name)) for name in _PARTS)
    if average:
        whole = _toward_zero(months, count)
        rest = months - whole * count
        extra_days = rest * 30
        day_total = days + extra_days
        whole_days = _toward_zero(day_total, count)
        us = _round(us + (day_total - whole_days * count) * DAY, count)
        months, days = whole, whole_days
    context = CallContext((output.type,), output.type, call.position)
    result = pl.when(count > 0).then(checked_interval(context, months, days, us))
    return Plan((column,), (*parts.values(), value.count().cast(pl.Int64).alias(inputs.name("n"))), result)


def _toward_zero(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return (total.abs() // count) * total.sign()


def _round(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return ((total.abs() + count // 2) // count) * total.sign()
