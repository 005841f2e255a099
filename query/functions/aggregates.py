"""The aggregate functions: their arguments and result types. Building them is lower.aggregates' business."""

from query.functions.registry import AGGREGATES, Aggregate, ResultRule, type_named
from query.pg.types import AVERAGE_SCALE, FLOAT8, INT8, TEXT, PgType, array_of, numeric

_SPREAD_SCALE = 16


def _fixed(name: str) -> ResultRule:
    kind = type_named(name)
    return lambda types: kind


def _argument(types: tuple[PgType, ...]) -> PgType:
    return types[0]


def _sum_numeric(types: tuple[PgType, ...]) -> PgType:
    return types[0]


def _average(types: tuple[PgType, ...]) -> PgType:
    return numeric(max(types[0].scale, AVERAGE_SCALE), exact=False)


def _spread(types: tuple[PgType, ...]) -> PgType:
    return numeric(_SPREAD_SCALE, exact=False)


def _add(
    name: str, parameters: str, result: ResultRule, text: str, summary: str, ordered_set: bool = False, direct: int = 0
) -> None:
    words = tuple(word.strip() for word in parameters.split(",") if word.strip())
    entry = Aggregate(name, words, result, text, summary, ordered_set, direct)
    AGGREGATES.setdefault(name, []).append(entry)


def _fill() -> None:
    _add("count", "", _fixed("int8"), "int8", "Number of rows.")
    _add("count", "any", _fixed("int8"), "int8", "Number of rows where the argument is not NULL.")
    for source, result in (("int2", "int8"), ("int4", "int8"), ("int8", "numeric")):
        _add("sum", source, _fixed(result), result, "Sum; NULL for no values.")
    for source in ("float4", "float8", "interval"):
        _add("sum", source, _fixed(source), source, "Sum; NULL for no values.")
    _add("sum", "numeric", _sum_numeric, "numeric", "Sum; NULL for no values.")
    for source in ("int2", "int4", "int8", "numeric"):
        _add("avg", source, _average, "numeric", "Mean; NULL for no values.")
    for source in ("float8", "interval"):
        _add("avg", source, _fixed(source), source, "Mean; NULL for no values.")
    for name, word in (("min", "Smallest"), ("max", "Greatest")):
        for source in (
            *("int2", "int4", "int8", "numeric", "float4", "float8", "text", "bytea", "date", "time"),
            *("timestamp", "timestamptz", "interval"),
        ):
            _add(name, source, _argument, source, f"{word} value; NULL for no values.")
        _add(name, "anyarray", _argument, "anyarray", f"{word} array; NULL for no values.")
    _booleans()
    _statistics()
    _lists()
    _ordered_sets()


def _booleans() -> None:
    for name, word in (("bool_and", "every"), ("every", "every"), ("bool_or", "some")):
        _add(name, "bool", _fixed("bool"), "bool", f"True if {word} value is true.")
    for name in ("bit_and", "bit_or", "bit_xor"):
        for source in ("int2", "int4", "int8"):
            _add(name, source, _argument, source, f"Bitwise {name[4:].upper()} of the values.")


def _statistics() -> None:
    for name in ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"):
        for source in ("int2", "int4", "int8", "numeric"):
            _add(name, source, _spread, "numeric", "Spread of the values around their mean.")
        _add(name, "float8", _fixed("float8"), "float8", "Spread of the values around their mean.")
    for name in ("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"):
        _add(name, "float8, float8", lambda types: FLOAT8, "float8", "Statistic of the pairs (y, x).")
    for name in ("regr_slope", "regr_intercept", "regr_r2"):
        _add(name, "float8, float8", lambda types: FLOAT8, "float8", "Least-squares line through the pairs (y, x).")
    _add("regr_count", "float8, float8", lambda types: INT8, "int8", "Number of pairs without NULL.")


def _lists() -> None:
    _add("array_agg", "any", lambda types: array_of(types[0]), "anyarray", "The values as an array, NULLs included.")
    _add("string_agg", "text, text", lambda types: TEXT, "text", "The values that are not NULL, joined.")
    _add("json_agg", "any", _fixed("json"), "json", "The values as a JSON array.")
    _add("jsonb_agg", "any", _fixed("jsonb"), "jsonb", "The values as a JSON array.")
    for kind in ("json", "jsonb"):
        _add(f"{kind}_object_agg", "any, any", _fixed(kind), kind, "Keys and values as a JSON object.")
    _add("any_value", "any", _argument, "anyelement", "Any value that is not NULL.")
    _add("approx_count_distinct", "any", _fixed("int8"), "int8", "About how many different values. Extension.")


def _ordered_sets() -> None:
    _add("percentile_cont", "float8", _fixed("float8"), "float8", "Interpolated percentile.", True, 1)
    _add("percentile_disc", "any", _argument, "anyelement", "First value at or beyond a percentile.", True, 1)
    _add("mode", "any", _argument, "anyelement", "Most frequent value.", True, 0)


_fill()
