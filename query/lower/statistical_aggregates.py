"""Aggregates that are statistics: spreads, correlations and regressions, and sums of intervals."""

from decimal import Decimal, localcontext
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.expr.intervals import checked_interval
from query.expr.row_errors import trap
from query.lower.aggregate_plans import Plan, argument, masked
from query.pg.intervals import DAY
from query.pg.types import NUMERIC_DIGITS
from query.plan.tree import AggregateCall, Field

_LARGEST_SQUARED: Final = 1.0e14
"""Beyond it the sum of the squares of many values could leave 128 bits."""


def spread(call: AggregateCall, made: Field) -> Plan:
    """Variances and deviations: of floats as Polars computes them, of exact numbers from exact sums."""
    if made.type.name == "numeric":
        return _exact_spread(call, made)
    column, value = argument(made, call)
    value, ddof = value.drop_nulls(), 0 if call.function.endswith("_pop") else 1
    found = value.std(ddof=ddof) if call.function.startswith("stddev") else value.var(ddof=ddof)
    return Plan((column,), (pl.when(value.count() > ddof).then(found).alias(made.id),), pl.col(made.id))


def _exact_spread(call: AggregateCall, made: Field) -> Plan:
    """(n * sum(x * x) - sum(x) ** 2) / (n * (n - 1)), and its root, with every digit."""
    kind, scale = call.args[0].type, made.type.scale
    column, value = argument(made, call)
    population, root = call.function.endswith("_pop"), call.function.startswith("stddev")
    total, squares, count = (f"{made.id}{part}" for part in ("s", "q", "n"))
    wide = value.cast(pl.Int128)
    square = trap(wide * wide, value.cast(pl.Float64).abs() >= _LARGEST_SQUARED, "numeric_range", call.position)
    aggregates = (
        wide.sum().alias(total),
        square.sum().alias(squares),
        value.count().cast(pl.Int64).alias(count),
    )

    def compute(n: int, s: int, q: int) -> int | None:
        divisor = n * n if population else n * (n - 1)
        if divisor <= 0:
            return None
        with localcontext() as context:
            context.prec = 2 * NUMERIC_DIGITS
            variance = (Decimal(n * q - s * s) / Decimal(divisor)).scaleb(-2 * kind.scale)
            result = variance.sqrt() if root else variance
            return int(result.scaleb(scale).to_integral_value("ROUND_HALF_UP"))

    context = CallContext((kind,), made.type, call.position)
    result = context.rowwise(compute, pl.col(count), pl.col(total), pl.col(squares))
    return Plan((column.cast(pl.Int128),), aggregates, result)


def pairs(call: AggregateCall, made: Field) -> Plan:
    """Aggregates over pairs (y, x): rows where both are present."""
    y, x = (masked(arg, call).cast(pl.Float64) for arg in call.args)
    names = f"{made.id}y", f"{made.id}x"
    both = y.is_not_null() & x.is_not_null()
    columns = (pl.when(both).then(y).alias(names[0]), pl.when(both).then(x).alias(names[1]))
    y, x = pl.col(names[0]), pl.col(names[1])
    n, dy, dx = y.count(), y - y.mean(), x - x.mean()
    sxx, syy, sxy = (dx * dx).sum(), (dy * dy).sum(), (dx * dy).sum()
    some = n > 0
    results: dict[str, pl.Expr] = {
        "corr": pl.when(some & (sxx > 0) & (syy > 0)).then((sxy / (sxx * syy).sqrt()).clip(-1.0, 1.0)),
        "covar_pop": pl.when(some).then(sxy / n),
        "covar_samp": pl.when(n > 1).then(sxy / (n - 1)),
        "regr_count": n.cast(pl.Int64),
        "regr_avgx": x.mean(),
        "regr_avgy": y.mean(),
        "regr_sxx": pl.when(some).then(sxx),
        "regr_syy": pl.when(some).then(syy),
        "regr_sxy": pl.when(some).then(sxy),
        "regr_slope": pl.when(some & (sxx > 0)).then(sxy / sxx),
        "regr_intercept": pl.when(some & (sxx > 0)).then(y.mean() - sxy / sxx * x.mean()),
        "regr_r2": pl.when(some & (sxx > 0)).then(pl.when(syy == 0).then(1.0).otherwise(sxy * sxy / (sxx * syy))),
    }
    return Plan(columns, (results[call.function].alias(made.id),), pl.col(made.id))


def interval_sum(call: AggregateCall, made: Field, average: bool) -> Plan:
    column, value = argument(made, call)
    parts = {name: value.struct.field(name).cast(pl.Int128).sum().alias(f"{made.id}{name}") for name in _PARTS}
    count = pl.col(f"{made.id}n")
    months, days, us = (pl.col(f"{made.id}{name}") for name in _PARTS)
    if average:
        whole = _toward_zero(months, count)
        rest = months - whole * count
        extra_days = rest * 30
        day_total = days + extra_days
        whole_days = _toward_zero(day_total, count)
        us = _rounded(us + (day_total - whole_days * count) * DAY, count)
        months, days = whole, whole_days
    context = CallContext((made.type,), made.type, call.position)
    result = pl.when(count > 0).then(checked_interval(context, months, days, us))
    return Plan((column,), (*parts.values(), value.count().cast(pl.Int64).alias(f"{made.id}n")), result)


_PARTS: Final = ("months", "days", "us")


def _toward_zero(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return (total.abs() // count) * total.sign()


def _rounded(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return ((total.abs() + count // 2) // count) * total.sign()
