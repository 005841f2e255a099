"""Aggregation: the plain aggregates in a generated GROUP BY statement, the others as compiled expressions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Final

import polars as pl

from query import fault
from query.bound import Aggregate, AggregateCall, Column, Constant, Field, Scalar, SortKey
from query.jsontext import normalised
from query.lower.guards import trap
from query.lower.intervals import interval, scaled_interval, sum_of_intervals
from query.lower.jsonvalues import quoted as quoted_text
from query.lower.jsonvalues import to_json
from query.lower.matching import groups_of, match_key, once
from query.lower.numbers import scaled_quotient
from query.lower.ordering import is_keyed, sort_key, sort_value
from query.lower.scalars import expression
from query.lower.site import CallSite
from query.lower.stage import Stage
from query.lower.statements import Statements, listed, quoted
from query.lower.texts import to_text
from query.types import BOOL, FLOATS, INTEGERS, NUMERIC_DIGITS, TEXT

_LARGEST_SQUARED: Final = 1.0e14
"""Beyond it the sum of the squares of many values could leave 128 bits."""

_SQL_NAMES: Final = {"count": "COUNT", "sum": "SUM", "min": "MIN", "max": "MAX", "avg": "AVG"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How one call is computed: columns before grouping, aggregates by name, and the result after grouping.

    `sql` are the aggregates as text over those columns, when SQLContext has them.
    """

    columns: tuple[pl.Expr, ...]
    aggregates: tuple[pl.Expr, ...]
    result: pl.Expr
    sql: tuple[str, ...] = ()


def aggregate(relation: Aggregate, frame: pl.LazyFrame, statements: Statements) -> pl.LazyFrame:
    """One row per group; without keys exactly one row."""
    keys = [key.id for key in relation.keys]
    made = relation.fields[len(keys) :]
    stage = Stage()
    plans = [plan(_staged(call, stage), field) for call, field in zip(relation.calls, made, strict=True)]
    frame = stage.before(frame).with_columns(column for entry in plans for column in entry.columns)
    groups = groups_of(frame, relation.keys)
    if groups.firsts:
        statements.note("aggregation by intervals")
        aggregates = (item for entry in plans for item in entry.aggregates)
        grouped = groups.frame.group_by(groups.names).agg(*groups.firsts, *aggregates)
    elif all(entry.sql for entry in plans) or not plans:
        grouped = _statement(frame, keys, plans, statements)
    else:
        grouped = _compiled(frame, keys, plans, statements)
    results = [entry.result.alias(field.id) for entry, field in zip(plans, made, strict=True)]
    if not relation.fields:
        return grouped
    return grouped.select(*keys, *results)


def _staged(call: AggregateCall, stage: Stage) -> AggregateCall:
    """The call with its condition and its deeper arguments computed ahead."""
    where = call.where
    if where is not None and not isinstance(where, Column | Constant):
        where = Column(BOOL, stage.keep(expression(where, stage)).meta.output_name())
    holds = None if where is None else expression(where).fill_null(False)

    def ahead(value: Scalar) -> Scalar:
        if not stage.is_nested(value):
            return value
        return Column(value.type, stage.keep(expression(value, stage, holds)).meta.output_name())

    order = tuple(replace(key, value=ahead(key.value)) for key in call.order)
    return replace(call, args=tuple(ahead(arg) for arg in call.args), order=order, where=where)


def _statement(frame: pl.LazyFrame, keys: list[str], plans: list[Plan], statements: Statements) -> pl.LazyFrame:
    name = statements.name(frame)
    if not plans:
        if not keys:
            return frame.select(pl.len().alias(""))
        return statements.run(f"SELECT DISTINCT {listed(keys)} FROM {name}")
    items = ", ".join([*(quoted(key) for key in keys), *(text for entry in plans for text in entry.sql)])
    group = f" GROUP BY {listed(keys)}" if keys else ""
    return statements.run(f"SELECT {items} FROM {name}{group}")


def _compiled(frame: pl.LazyFrame, keys: list[str], plans: list[Plan], statements: Statements) -> pl.LazyFrame:
    statements.note("aggregation")
    aggregates = [item for entry in plans for item in entry.aggregates]
    return frame.group_by(keys).agg(aggregates) if keys else frame.select(aggregates)


def plan(call: AggregateCall, made: Field) -> Plan:
    """How to compute one call."""
    name = call.function
    if name == "count" and not call.args:
        return _count_rows(call, made)
    if name in ("array_agg", "string_agg", *_JSON_LISTS):
        return _LISTS[name](call, made)
    if name in _ORDERED:
        return _ORDERED[name](call, made)
    builder = _PLANS.get(name)
    if builder is None:
        raise fault.unsupported(f"aggregate {name}", call.position)
    return builder(call, made)


def _masked(value: Scalar, call: AggregateCall) -> pl.Expr:
    """The argument where FILTER holds, else null; aggregates that skip nulls need no more."""
    if call.where is None:
        return expression(value)
    holds = expression(call.where).fill_null(False)
    return pl.when(holds).then(expression(value, where=holds))


def _argument(made: Field, call: AggregateCall, index: int = 0) -> tuple[pl.Expr, pl.Expr]:
    """The column an argument is computed as before grouping, and its values in the aggregate."""
    name = f"{made.id}a{index}"
    value = pl.col(name)
    return _masked(call.args[index], call).alias(name), once(value, call.args[index].type) if call.distinct else value


def _count_rows(call: AggregateCall, made: Field) -> Plan:
    if call.where is None:
        return Plan((), (pl.len().cast(pl.Int64).alias(made.id),), pl.col(made.id), (f'COUNT(*) AS "{made.id}"',))
    name = f"{made.id}a0"
    column = expression(call.where).alias(name)
    total = pl.col(name).sum().alias(made.id)
    result = pl.col(made.id).cast(pl.Int64).fill_null(0)
    return Plan((column,), (total,), result, (f'SUM("{name}") AS "{made.id}"',))


def _count(call: AggregateCall, made: Field) -> Plan:
    column, _ = _argument(made, call)
    name = f"{made.id}a0"
    if call.distinct:
        kind = call.args[0].type
        values = match_key(pl.col(name), kind)
        present = values if kind.name == "record" and call.where is None else values.drop_nulls()
        plain = not is_keyed(kind) and kind.name != "record"
        sql: tuple[str, ...] = (f'COUNT(DISTINCT "{name}") AS "{made.id}"',) if plain else ()
        distinct = present.n_unique().cast(pl.Int64).alias(made.id)
        return Plan((column,), (distinct,), pl.col(made.id).cast(pl.Int64), sql)
    if call.args[0].type.name == "record" and call.where is None:
        return Plan((column,), (pl.len().cast(pl.Int64).alias(made.id),), pl.col(made.id))
    counted = pl.col(name).count().cast(pl.Int64).alias(made.id)
    return Plan((column,), (counted,), pl.col(made.id).cast(pl.Int64), (f'COUNT("{name}") AS "{made.id}"',))


def _sum(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    if kind.name == "interval":
        return _interval_sum(call, made, average=False)
    column, value = _argument(made, call)
    name = f"{made.id}a0"
    wide = made.type.polars
    column = column.cast(wide) if kind.name in INTEGERS else column
    total = pl.when(value.count() > 0).then(value.sum()).alias(made.id)
    sql = () if call.distinct else (f'SUM("{name}") AS "{made.id}"', f'COUNT("{name}") AS "{made.id}n"')
    counted = value.count().alias(f"{made.id}n")
    result = pl.when(pl.col(f"{made.id}n") > 0).then(pl.col(made.id)).cast(wide)
    return Plan((column,), (total, counted), result, sql)


def _avg(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    if kind.name == "interval":
        return _interval_sum(call, made, average=True)
    column, value = _argument(made, call)
    name, total, count = f"{made.id}a0", f"{made.id}s", f"{made.id}n"
    if kind.name in FLOATS:
        mean = value.cast(pl.Float64).mean().alias(made.id)
        sql = () if call.distinct else (f'AVG("{name}") AS "{made.id}"',)
        return Plan((column.cast(pl.Float64),), (mean,), pl.col(made.id), sql)
    aggregates = (value.sum().alias(total), value.count().cast(pl.Int64).alias(count))
    sums: tuple[str, ...] = () if call.distinct else (f'SUM("{name}") AS "{total}"', f'COUNT("{name}") AS "{count}"')
    result = quotient(pl.col(total).cast(pl.Int128), pl.col(count), made.type.scale - kind.scale)
    if kind.name in ("numeric", "int8"):
        size = pl.col(total).cast(pl.Float64).abs() / pl.col(count).cast(pl.Float64)
        result = trap(
            result,
            (pl.col(count) > 0) & (size >= 10.0 ** (NUMERIC_DIGITS - made.type.scale + kind.scale)),
            "numeric_range",
            None,
        )
    return Plan((column.cast(pl.Int128),), aggregates, result, sums)


def quotient(total: pl.Expr, count: pl.Expr, scale: int) -> pl.Expr:
    """total / count with `scale` more digits, rounded half away from zero; null for a count of 0."""
    return scaled_quotient(total, pl.when(count > 0).then(count.cast(pl.Int128)), scale)


def _extreme(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    column, _ = _argument(made, call)
    name = f"{made.id}a0"
    value = pl.col(name)
    smallest = call.function == "min"
    if is_keyed(kind):
        present = value.drop_nulls()
        key = sort_key(present, kind)
        chosen = present.get(key.arg_min() if smallest else key.arg_max(), null_on_oob=True)
        return Plan((column,), (chosen.alias(made.id),), pl.col(made.id))
    if kind.name in FLOATS:
        return _float_extreme(column, value, made, smallest)
    found = (value.min() if smallest else value.max()).alias(made.id)
    return Plan((column,), (found,), pl.col(made.id), (f'{_SQL_NAMES[call.function]}("{name}") AS "{made.id}"',))


def _float_extreme(column: pl.Expr, value: pl.Expr, made: Field, smallest: bool) -> Plan:
    """NaN is the greatest float: max finds it, min only when there is nothing else."""
    if smallest:
        return Plan(
            (column,),
            (value.min().alias(made.id),),
            pl.col(made.id),
            (f'MIN({value.meta.output_name()!r}) AS "{made.id}"'.replace("'", '"'),),
        )
    nan = f"{made.id}x"
    aggregates = (value.max().alias(made.id), value.is_nan().any().alias(nan))
    return Plan((column,), aggregates, pl.when(pl.col(nan)).then(float("nan")).otherwise(pl.col(made.id)))


def _boolean(call: AggregateCall, made: Field) -> Plan:
    column, value = _argument(made, call)
    found = value.min() if call.function in ("bool_and", "every") else value.max()
    return Plan((column,), (found.alias(made.id),), pl.col(made.id))


def _bits(call: AggregateCall, made: Field) -> Plan:
    column, value = _argument(made, call)
    present = value.drop_nulls()
    methods = {"bit_and": present.bitwise_and, "bit_or": present.bitwise_or, "bit_xor": present.bitwise_xor}
    found = pl.when(value.count() > 0).then(methods[call.function]())
    return Plan((column,), (found.alias(made.id),), pl.col(made.id))


def _spread(call: AggregateCall, made: Field) -> Plan:
    """Variances and deviations: of floats as Polars computes them, of exact numbers from exact sums."""
    if made.type.name == "numeric":
        return _exact_spread(call, made)
    column, value = _argument(made, call)
    value, ddof = value.drop_nulls(), 0 if call.function.endswith("_pop") else 1
    found = value.std(ddof=ddof) if call.function.startswith("stddev") else value.var(ddof=ddof)
    return Plan((column,), (pl.when(value.count() > ddof).then(found).alias(made.id),), pl.col(made.id))


def _exact_spread(call: AggregateCall, made: Field) -> Plan:
    """(n * sum(x * x) - sum(x) ** 2) / (n * (n - 1)), and its root, with every digit."""
    kind, scale = call.args[0].type, made.type.scale
    column, value = _argument(made, call)
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

    site = CallSite((kind,), made.type, call.position)
    result = site.rowwise(compute, pl.col(count), pl.col(total), pl.col(squares))
    return Plan((column.cast(pl.Int128),), aggregates, result)


def _pairs(call: AggregateCall, made: Field) -> Plan:
    """Aggregates over pairs (y, x): rows where both are present."""
    y, x = (_masked(arg, call).cast(pl.Float64) for arg in call.args)
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


def _interval_sum(call: AggregateCall, made: Field, average: bool) -> Plan:
    column, value = _argument(made, call)
    parts = {name: value.struct.field(name).cast(pl.Int64).sum().alias(f"{made.id}{name}") for name in _PARTS}
    count = pl.col(f"{made.id}n")
    months, days, us = (pl.col(f"{made.id}{name}") for name in _PARTS)
    if average:
        whole = _toward_zero(months, count)
        rest = months - whole * count
        extra_days = rest * 30
        day_total = days + extra_days
        whole_days = _toward_zero(day_total, count)
        us = _rounded(us + (day_total - whole_days * count) * 86_400_000_000, count)
        months, days = whole, whole_days
    result = pl.when(count > 0).then(interval(months, days, us))
    return Plan((column,), (*parts.values(), value.count().cast(pl.Int64).alias(f"{made.id}n")), result)


_PARTS: Final = ("months", "days", "us")


def _toward_zero(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return (total.abs() // count) * total.sign()


def _rounded(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    return ((total.abs() + count // 2) // count) * total.sign()


# --- lists ---------------------------------------------------------------------------------------------------------


def _sorted_values(value: pl.Expr, call: AggregateCall, made: Field) -> tuple[tuple[pl.Expr, ...], pl.Expr]:
    """The argument's values in the call's order; with DISTINCT each once, sorted as PostgreSQL leaves them."""
    if call.distinct:
        key = call.order[0] if call.order else SortKey(call.args[0], False, False)
        return (), _sorted_once(value, key)
    if not call.order:
        return (), value
    names = [f"{made.id}o{index}" for index in range(len(call.order))]
    columns = tuple(sort_value(key.value).alias(name) for key, name in zip(call.order, names, strict=True))
    keys = [pl.col(name) for name in names]
    if call.where is not None:
        keys = [key.filter(pl.col(f"{made.id}w")) for key in keys]
    ordered = value.sort_by(
        keys,
        descending=[key.descending for key in call.order],
        nulls_last=[not key.nulls_first for key in call.order],
        maintain_order=True,
    )
    return columns, ordered


def _sorted_once(value: pl.Expr, key: SortKey) -> pl.Expr:
    """Each value once, in order. What is equal has an equal key: '1 mon' and '30 days' are one value."""
    if not is_keyed(key.value.type):
        return value.unique().sort(descending=key.descending, nulls_last=not key.nulls_first)
    by = sort_key(value, key.value.type)
    ordered = value.sort_by(by, descending=key.descending, nulls_last=not key.nulls_first, maintain_order=True)
    return once(ordered, key.value.type)


def _list(call: AggregateCall, made: Field, argument: pl.Expr) -> tuple[tuple[pl.Expr, ...], pl.Expr]:
    """Columns and the values of `argument` in order, rows that FILTER drops left out."""
    name = f"{made.id}a0"
    columns = [argument.alias(name)]
    value = pl.col(name)
    if call.where is not None:
        columns.append(expression(call.where).fill_null(False).alias(f"{made.id}w"))
        value = value.filter(pl.col(f"{made.id}w"))
    more, ordered = _sorted_values(value, call, made)
    return (*columns, *more), ordered


def _array_agg(call: AggregateCall, made: Field) -> Plan:
    columns, values = _list(call, made, expression(call.args[0]))
    result = pl.when(pl.col(made.id).list.len() > 0).then(pl.col(made.id))
    return Plan(columns, (values.implode().alias(made.id),), result)


def _string_agg(call: AggregateCall, made: Field) -> Plan:
    delimiter = getattr(call.args[1], "value", None)
    if not isinstance(delimiter, str):
        raise fault.unsupported("string_agg with a delimiter that is not a constant", call.position)
    columns, values = _list(call, made, expression(call.args[0]))
    present = values.drop_nulls()
    joined = pl.when(present.count() > 0).then(present.str.join(delimiter)).alias(made.id)
    return Plan(columns, (joined,), pl.col(made.id))


def _json_list(call: AggregateCall, made: Field) -> Plan:
    kind = call.args[0].type
    site = CallSite((kind,), made.type, call.position)
    columns, values = _list(call, made, expression(call.args[0]))
    binary = made.type.name == "jsonb"
    texts = to_json(site, values, kind, binary).fill_null("null")
    items = pl.col(made.id)
    result = pl.when(items.is_not_null()).then(pl.concat_str([pl.lit("["), items, pl.lit("]")]))
    separator = ", \n " if kind.name == "record" and not binary else ", "
    joined = pl.when(values.len() > 0).then(texts.str.join(separator)).alias(made.id)
    return Plan(columns, (joined,), result)


def _json_object(call: AggregateCall, made: Field) -> Plan:
    """Keys and values as a JSON object; of jsonb the last value of a key stays."""
    if call.distinct:
        raise fault.unsupported(f"DISTINCT in {call.function}", call.position)
    binary = made.type.name == "jsonb"
    key_site = CallSite((call.args[0].type,), TEXT, call.position)
    item_site = CallSite((call.args[1].type,), made.type, call.position)
    key = key_site.rowwise(quoted_text, to_text(key_site, expression(call.args[0]), call.args[0].type))
    item = to_json(item_site, expression(call.args[1]), call.args[1].type, binary).fill_null("null")
    columns, members = _list(call, made, pl.concat_str([key, pl.lit(" : "), item]))
    joined = pl.when(members.len() > 0).then(members.str.join(", ")).alias(made.id)
    whole = pl.concat_str([pl.lit("{ "), pl.col(made.id), pl.lit(" }")])
    return Plan(columns, (joined,), item_site.rowwise(normalised, whole) if binary else whole)


_JSON_LISTS: Final = ("json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg")
_LISTS: Final[dict[str, Callable[[AggregateCall, Field], Plan]]] = {
    "array_agg": _array_agg,
    "string_agg": _string_agg,
    "json_agg": _json_list,
    "jsonb_agg": _json_list,
    "json_object_agg": _json_object,
    "jsonb_object_agg": _json_object,
}


# --- ordered sets --------------------------------------------------------------------------------------------------


def _ordered(call: AggregateCall, made: Field) -> tuple[pl.Expr, pl.Expr]:
    """The column of the ordering value, and its present values in order."""
    key = call.order[0]
    name = f"{made.id}a0"
    value = pl.col(name).drop_nulls()
    if is_keyed(key.value.type):
        ordered = value.sort_by(sort_key(value, key.value.type), descending=key.descending)
    else:
        ordered = value.sort(descending=key.descending)
    return _masked(key.value, call).alias(name), ordered


def _percentile_disc(call: AggregateCall, made: Field) -> Plan:
    def pick(values: pl.Expr, count: pl.Expr, fraction: float) -> pl.Expr:
        index = (count * fraction).ceil().cast(pl.Int64) - 1
        return values.list.get(index.clip(0, None), null_on_oob=True)

    return _fractions(call, made, pick)


def _percentile_cont(call: AggregateCall, made: Field) -> Plan:
    """Between the two nearest values in proportion; PostgreSQL computes lo + fraction * (hi - lo)."""
    spans = call.order[0].value.type.name == "interval"

    def pick(values: pl.Expr, count: pl.Expr, fraction: float) -> pl.Expr:
        place = (count - 1) * fraction
        low, high = place.floor(), place.ceil()
        first = values.list.get(low.cast(pl.Int64).clip(0, None), null_on_oob=True)
        second = values.list.get(high.cast(pl.Int64).clip(0, None), null_on_oob=True)
        if spans:
            between = sum_of_intervals(scaled_interval(sum_of_intervals(second, first, -1), place - low), first)
        else:
            between = first + (place - low) * (second - first)
        return pl.when(low == high).then(first).otherwise(between)

    return _fractions(call, made, pick)


def _fractions(call: AggregateCall, made: Field, pick: Callable[[pl.Expr, pl.Expr, float], pl.Expr]) -> Plan:
    """Each group's values are sorted once, into a list; the fractions are read from it after grouping."""
    column, ordered = _ordered(call, made)
    name, wanted = f"{made.id}l", getattr(call.direct[0], "value", None)
    values, count = pl.col(name), pl.col(name).list.len().cast(pl.Int64)
    aggregates = (ordered.implode().alias(name),)
    if wanted is None:
        return Plan((column,), aggregates, pl.lit(None, dtype=made.type.polars))
    if not isinstance(wanted, tuple):
        return Plan((column,), aggregates, pick(values, count, float(wanted)))
    parts = [pick(values, count, float(fraction)) for fraction in wanted]
    return Plan((column,), aggregates, pl.when(count > 0).then(pl.concat_list(parts).cast(made.type.polars)))


def _mode(call: AggregateCall, made: Field) -> Plan:
    """The most frequent value; of several the first in the order."""
    column, ordered = _ordered(call, made)
    kind = call.order[0].value.type
    if is_keyed(kind):
        runs = sort_key(ordered, kind).rle().struct.field("len")
        last = (runs.cum_sum().cast(pl.Int64) - 1).filter(runs == runs.max()).first()
        return Plan((column,), (ordered.get(last, null_on_oob=True).alias(made.id),), pl.col(made.id))
    found = ordered.mode().sort(descending=call.order[0].descending).first()
    return Plan((column,), (found.alias(made.id),), pl.col(made.id))


_ORDERED: Final[dict[str, Callable[[AggregateCall, Field], Plan]]] = {
    "percentile_cont": _percentile_cont,
    "percentile_disc": _percentile_disc,
    "mode": _mode,
}


def _any_value(call: AggregateCall, made: Field) -> Plan:
    column, value = _argument(made, call)
    return Plan((column,), (value.drop_nulls().first().alias(made.id),), pl.col(made.id))


def _approximate(call: AggregateCall, made: Field) -> Plan:
    column, _ = _argument(made, call)
    estimated = pl.col(f"{made.id}a0").drop_nulls().approx_n_unique().cast(pl.Int64).alias(made.id)
    return Plan((column,), (estimated,), pl.col(made.id))


_PLANS: Final[dict[str, Callable[[AggregateCall, Field], Plan]]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme,
    "max": _extreme,
    "any_value": _any_value,
    "approx_count_distinct": _approximate,
    **dict.fromkeys(("bool_and", "bool_or", "every"), _boolean),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), _bits),
    **dict.fromkeys(("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), _spread),
    **dict.fromkeys(("corr", "covar_pop", "covar_samp", "regr_count", "regr_avgx", "regr_avgy"), _pairs),
    **dict.fromkeys(("regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2"), _pairs),
}
