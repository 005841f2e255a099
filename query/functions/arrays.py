"""Arrays of one dimension, counted from 1, and the series functions that give rows."""

import calendar
from datetime import timedelta

import polars as pl

from query import fault
from query.functions.registry import Site, define
from query.limits import MAX_SERIES_ROWS
from query.lower.guards import row_fault
from query.lower.texts import to_text
from query.moments import EPOCH, to_datetime
from query.types import PgType, array_of, widest

_FAMILY = "Arrays"


@define("array element(anyarray, int4) -> anyelement", "`a[n]`: NULL outside of the array.", family=_FAMILY)
def element(site: Site, array: pl.Expr, place: pl.Expr) -> pl.Expr:
    index = pl.when(place >= 1).then(place.cast(pl.Int64) - 1)
    return array.list.get(index, null_on_oob=True)


@define("array slice(anyarray, int4, int4) -> anyarray", "`a[m:n]`.", family=_FAMILY)
def array_slice(site: Site, array: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    first = low.cast(pl.Int64).clip(1, None)
    count = (high.cast(pl.Int64) - first + 1).clip(0, None)
    return pl.when(low.is_not_null() & high.is_not_null()).then(array.list.slice(first - 1, count))


@define("array_length(anyarray, int4!) -> int4", "Number of elements; NULL of an empty array.", family=_FAMILY)
def array_length(site: Site, array: pl.Expr, dimension: object) -> pl.Expr:
    if dimension != 1:
        return pl.lit(None, dtype=pl.Int32)
    size = array.list.len().cast(pl.Int32)
    return pl.when(size > 0).then(size)


@define("cardinality(anyarray) -> int4", "Number of elements.", family=_FAMILY)
def cardinality(site: Site, array: pl.Expr) -> pl.Expr:
    return array.list.len().cast(pl.Int32)


@define("array_upper(anyarray, int4!) -> int4", "Last index.", family=_FAMILY)
def array_upper(site: Site, array: pl.Expr, dimension: object) -> pl.Expr:
    return array_length(site, array, dimension)


@define("array_lower(anyarray, int4!) -> int4", "First index.", family=_FAMILY)
def array_lower(site: Site, array: pl.Expr, dimension: object) -> pl.Expr:
    if dimension != 1:
        return pl.lit(None, dtype=pl.Int32)
    return pl.when(array.list.len() > 0).then(pl.lit(1, dtype=pl.Int32))


def _hashable(site: Site, index: int = 0) -> None:
    inner = site.types[index].element
    if inner is not None and inner.name in ("interval", "json"):
        raise fault.unsupported(f"searching an array of {inner.sql_name}", site.position)


@define("= any(anyelement, anyarray) -> bool", "`x = ANY (array)`.", family=_FAMILY)
def equal_any(site: Site, value: pl.Expr, array: pl.Expr) -> pl.Expr:
    """NULL unless found, when the value or an element is NULL."""
    _hashable(site, 1)
    size = array.list.len()
    found = array.list.contains(value)
    unknown = value.is_null() | (array.list.drop_nulls().list.len() < size)
    result = pl.when(found & value.is_not_null()).then(True).when(size == 0).then(False)
    return pl.when(array.is_not_null()).then(result.when(unknown).then(None).otherwise(False))


@define("<> all(anyelement, anyarray) -> bool", "`x <> ALL (array)`.", family=_FAMILY)
def differs_from_all(site: Site, value: pl.Expr, array: pl.Expr) -> pl.Expr:
    return ~equal_any(site, value, array)


def _nullable(result: list[bool | None], any_of: bool) -> bool | None:
    if any_of in result:
        return any_of
    return None if None in result else not any_of


def _quantifier(symbol: str, any_of: bool) -> None:

    def holds(value: object, item: object) -> bool:
        if symbol in ("=", "<>"):
            return (value == item) == (symbol == "=")
        less = value < item  # type: ignore[operator]
        equal = value == item
        results: dict[str, bool] = {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}
        return results[symbol]

    @define(
        f"{symbol} {'any' if any_of else 'all'}(anyelement, anyarray) -> bool",
        f"`x {symbol} {'ANY' if any_of else 'ALL'} (array)`.",
        family=_FAMILY,
    )
    def quantified(site: Site, value: pl.Expr, array: pl.Expr) -> pl.Expr:
        if site.types[0].name in ("interval", "float8", "record"):
            raise fault.unsupported(f"{symbol} over an array of {site.types[0].sql_name}", site.position)

        def test(one: object, items: list[object]) -> bool | None:
            return _nullable([None if item is None else holds(one, item) for item in items], any_of)

        return site.rowwise(test, value, array)


for _symbol in ("<", "<=", ">", ">=", "<>"):
    _quantifier(_symbol, True)
for _symbol in ("<", "<=", ">", ">=", "="):
    _quantifier(_symbol, False)


@define("string_to_array(text, text) -> text[]", "Parts between delimiters.", family=_FAMILY)
def string_to_array(site: Site, value: pl.Expr, delimiter: pl.Expr) -> pl.Expr:
    def split(text: str, by: str) -> list[str]:
        if not text:
            return []
        return text.split(by) if by else [text]

    letters = site.rowwise(list, pl.when(delimiter.is_null()).then(value))
    return pl.coalesce(site.rowwise(split, value, delimiter), letters)


@define("string_to_array(text, text, text) -> text[]", "Parts between delimiters, one text as NULL.", family=_FAMILY)
def string_to_array_null(site: Site, value: pl.Expr, delimiter: pl.Expr, null: pl.Expr) -> pl.Expr:
    def split(text: str, by: str, missing: str) -> list[str | None]:
        parts = (text.split(by) if by else [text]) if text else []
        return [None if part == missing else part for part in parts]

    plain = string_to_array(site, value, delimiter)
    return pl.when(null.is_null()).then(plain).otherwise(site.rowwise(split, value, delimiter, null))


@define("array_to_string(anyarray, text) -> text", "Elements that are not NULL, joined.", family=_FAMILY)
def array_to_string(site: Site, array: pl.Expr, delimiter: pl.Expr) -> pl.Expr:
    return _texts(site, array).list.drop_nulls().list.join(delimiter)


@define("array_to_string(anyarray, text, text) -> text", "Elements joined, a text for NULL.", family=_FAMILY)
def array_to_string_null(site: Site, array: pl.Expr, delimiter: pl.Expr, null: pl.Expr) -> pl.Expr:
    def join(items: list[str | None], by: str, missing: str) -> str:
        return by.join(missing if item is None else item for item in items)

    plain = _texts(site, array).list.drop_nulls().list.join(delimiter)
    return pl.when(null.is_null()).then(plain).otherwise(site.rowwise(join, _texts(site, array), delimiter, null))


def _texts(site: Site, array: pl.Expr) -> pl.Expr:
    inner = site.types[0].element
    if inner is None or inner.name not in ("text", "int2", "int4", "int8", "bool", "date", "timestamp", "jsonb"):
        raise fault.unsupported(f"array_to_string of {site.types[0].sql_name}", site.position)
    if inner.name == "bool":
        return array.list.eval(pl.when(pl.element()).then(pl.lit("t")).when(~pl.element()).then(pl.lit("f")))
    return array.list.eval(to_text(site, pl.element(), inner))


def _array_kind(types: tuple[PgType, ...]) -> PgType:
    return types[0] if types[0].element is not None else array_of(types[0])


@define(
    "array_append(anyarray, anyelement) -> anyarray; ||(anyarray, anyelement) -> anyarray",
    "Element at the end.",
    family=_FAMILY,
)
def array_append(site: Site, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.concat_list([_present(site, array, site.types[0]), value]).cast(site.result.polars)


@define(
    "array_prepend(anyelement, anyarray) -> anyarray; ||(anyelement, anyarray) -> anyarray",
    "Element at the start.",
    family=_FAMILY,
)
def array_prepend(site: Site, value: pl.Expr, array: pl.Expr) -> pl.Expr:
    return pl.concat_list([value, _present(site, array, site.types[1])]).cast(site.result.polars)


@define(
    "array_cat(anyarray, anyarray) -> anyarray; ||(anyarray, anyarray) -> anyarray",
    "Both arrays in a row.",
    family=_FAMILY,
)
def array_cat(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    joined = pl.concat_list([_present(site, left, site.types[0]), _present(site, right, site.types[1])])
    return pl.when(left.is_not_null() | right.is_not_null()).then(joined)


def _present(site: Site, array: pl.Expr, kind: PgType) -> pl.Expr:
    """A NULL array counts as empty when something is added to it."""
    return pl.coalesce(array, pl.lit(pl.Series([[]], dtype=kind.polars)).first())


@define("array_remove(anyarray, anyelement) -> anyarray", "Without the elements equal to a value.", family=_FAMILY)
def array_remove(site: Site, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    _hashable(site)
    return site.rowwise(lambda items, one: [item for item in items if item != one], array, value)


@define("array_position(anyarray, anyelement) -> int4", "Index of the first element equal to a value.", family=_FAMILY)
def array_position(site: Site, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    _hashable(site)
    found = site.rowwise(lambda items, one: items.index(one) + 1 if one in items else None, array, value)
    missing = site.rowwise(lambda items: items.index(None) + 1 if None in items else None, array)
    return pl.when(value.is_null()).then(missing).otherwise(found)


@define("@>(anyarray, anyarray) -> bool", "Contains every element.", family=_FAMILY)
def contains(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    _hashable(site)
    return site.rowwise(lambda all_, some: all(item is not None and item in all_ for item in some), left, right)


@define("<@(anyarray, anyarray) -> bool", "Is contained.", family=_FAMILY)
def contained(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return contains(site, right, left)


@define("&&(anyarray, anyarray) -> bool", "Have an element in common.", family=_FAMILY)
def overlaps(site: Site, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    _hashable(site)
    return site.rowwise(lambda a, b: any(item is not None and item in b for item in a), left, right)


@define(
    "array_replace(anyarray, anyelement, anyelement) -> anyarray", "Elements equal to a value replaced.", family=_FAMILY
)
def array_replace(site: Site, array: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    _hashable(site)
    return site.rowwise(lambda items, a, b: [b if item == a else item for item in items], array, old, new)


@define("array_positions(anyarray, anyelement) -> int4[]", "Indexes of the elements equal to a value.", family=_FAMILY)
def array_positions(site: Site, array: pl.Expr, value: pl.Expr) -> pl.Expr:
    _hashable(site)
    return site.rowwise(lambda items, one: [n for n, item in enumerate(items, 1) if item == one], array, value)


# --- series --------------------------------------------------------------------------------------------------------


def _series_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(types[0])


@define(
    "generate_series(int4, int4) -> int4[]; generate_series(int8, int8) -> int8[]",
    "Rows from start to end.",
    family=_FAMILY,
    result=_series_kind,
)
def generate_series(site: Site, start: pl.Expr, end: pl.Expr) -> pl.Expr:
    return generate_series_step(site, start, end, pl.lit(1, dtype=pl.Int64))


@define(
    "generate_series(int4, int4, int4) -> int4[]; generate_series(int8, int8, int8) -> int8[]",
    "Rows from start to end by steps.",
    family=_FAMILY,
    result=_series_kind,
)
def generate_series_step(site: Site, start: pl.Expr, end: pl.Expr, step: pl.Expr) -> pl.Expr:
    first, last, by = (value.cast(pl.Int64) for value in (start, end, step))
    by = site.trap(by, by == 0, "step_zero")
    count = _count(site, first, last, by)
    result = pl.when(count.is_not_null()).then(pl.int_ranges(first, first + by * count, by))
    return result.cast(site.result.polars)


def _count(site: Site, first: pl.Expr, last: pl.Expr, by: pl.Expr) -> pl.Expr:
    distance = last.cast(pl.Int128) - first.cast(pl.Int128)
    steps = pl.when((distance >= 0) == (by > 0)).then(distance.abs() // by.abs() + 1).otherwise(0)
    steps = pl.when(distance == 0).then(1).otherwise(steps)
    too_many = steps > MAX_SERIES_ROWS
    count = pl.when(too_many).then(0).otherwise(steps)
    count = pl.when(distance.is_not_null() & by.is_not_null()).then(count)
    return site.trap(count, too_many, "series_size").cast(pl.Int64)


def _moment_series(site: Site, start: pl.Expr, end: pl.Expr, step: object) -> pl.Expr:
    months, days, us = step if isinstance(step, tuple) else (0, 0, 0)
    kind = site.types[0]
    if months:
        return _calendar_series(site, start, end, (months, days, us))
    width = days * 86_400_000_000 + us
    if width == 0:
        raise fault.invalid(fault.INVALID_PARAMETER, "step size cannot equal zero", site.position)
    scale = 1000 if kind.unit == "ns" else 1
    first, last = start.to_physical().cast(pl.Int64), end.cast(kind.polars).to_physical().cast(pl.Int64)
    by = pl.lit(width * scale, dtype=pl.Int64)
    count = _count(site, first, last, by)
    return pl.int_ranges(first, first + by * count, width * scale).cast(site.result.polars)


def _calendar_series(site: Site, start: pl.Expr, end: pl.Expr, step: tuple[int, int, int]) -> pl.Expr:
    """Steps with months, one after the other as PostgreSQL adds them: the 31st stays cut once it was."""
    months, days, us = step

    def walk(first: int, last: int) -> list[int]:
        current, found, rising = first, [], (months, days, us) > (0, 0, 0)
        while current <= last if rising else current >= last:
            found.append(current)
            if len(found) > MAX_SERIES_ROWS:
                raise row_fault(fault.PROGRAM_LIMIT, "generate_series would make too many rows", site.position)
            current = _later(current, months) + days * 86_400_000_000 + us
        return found

    if site.types[0].unit == "ns" or site.types[1].unit == "ns":
        raise fault.unsupported("generate_series by months over nanoseconds", site.position)
    return site.rowwise(walk, start.to_physical(), end.to_physical())


def _later(us: int, months: int) -> int:
    """A moment some months later, its day cut to the month's length."""
    moment = to_datetime(us)
    whole = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(whole, 12)
    last = calendar.monthrange(year, month + 1)[1]
    moved = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    return (moved - EPOCH) // timedelta(microseconds=1)


def _moment_kind(types: tuple[PgType, ...]) -> PgType:
    return array_of(widest(types[0], types[1]))


@define(
    "generate_series(timestamp, timestamp, interval!) -> timestamp[]; "
    "generate_series(timestamptz, timestamptz, interval!) -> timestamptz[]",
    "Times from start to end by steps.",
    family=_FAMILY,
    result=_moment_kind,
)
def generate_times(site: Site, start: pl.Expr, end: pl.Expr, step: object) -> pl.Expr:
    return _moment_series(site, start, end, step)


@define(
    "generate_subscripts(anyarray, int4!) -> int4[]",
    "Indexes of an array.",
    family=_FAMILY,
    result=lambda types: array_of(PgType("int4")),
)
def generate_subscripts(site: Site, array: pl.Expr, dimension: object) -> pl.Expr:
    size = array.list.len().cast(pl.Int64)
    return pl.when(size.is_not_null()).then(pl.int_ranges(1, size + 1)).cast(site.result.polars)
