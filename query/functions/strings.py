"""Text functions: case, length, and parts. Positions and lengths count characters from 1, as PostgreSQL does."""

import re
from collections.abc import Callable

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define
from query.limits import MAX_TEXT_CHARACTERS
from query.pg.patterns.like import lower_letter

declare_row_error("text_size", fault.PROGRAM_LIMIT, "requested length too large")

_FAMILY = "Text"


def is_ascii(value: pl.Expr) -> pl.Expr:
    """True where bytes are characters, so that Polars' byte functions are exact."""
    return value.str.len_bytes() == value.str.len_chars()


def or_rowwise(context: CallContext, value: pl.Expr, fast: pl.Expr, slow: Callable[[str], object]) -> pl.Expr:
    """`fast` for plain ASCII, `slow` for the rest."""
    plain = is_ascii(value)
    return pl.when(plain).then(fast).otherwise(context.rowwise(slow, pl.when(~plain).then(value)))


def upper_text(text: str) -> str:
    """Upper case letter by letter: a letter whose upper case is two stays, as with towupper."""
    return "".join(changed if len(changed := letter.upper()) == 1 else letter for letter in text)


def lower_text(text: str) -> str:
    """Lower case letter by letter, the first letter of a lower case that is two."""
    return "".join(map(lower_letter, text))


@define("upper(text) -> text", "Upper case.", family=_FAMILY)
def upper(context: CallContext, value: pl.Expr) -> pl.Expr:
    return or_rowwise(context, value, value.str.to_uppercase(), upper_text)


@define("lower(text) -> text", "Lower case.", family=_FAMILY)
def lower(context: CallContext, value: pl.Expr) -> pl.Expr:
    return or_rowwise(context, value, value.str.to_lowercase(), lower_text)


@define("casefold(text) -> text", "Letters whose case is ignored made equal, each by one.", family=_FAMILY)
def casefold(context: CallContext, value: pl.Expr) -> pl.Expr:
    return or_rowwise(context, value, value.str.to_lowercase(), lambda text: "".join(map(_folded, text)))


_FOLDED_SINCE_15_1 = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


def _folded(letter: str) -> str:
    """Simple case folding (Unicode, CaseFolding.txt, C and S)."""
    if letter in _FOLDED_SINCE_15_1:
        return _FOLDED_SINCE_15_1[letter]
    return next((changed for changed in (letter.casefold(), letter.lower()) if len(changed) == 1), letter)


@define("initcap(text) -> text", "First letter of each word in upper case, the others in lower.", family=_FAMILY)
def initcap(context: CallContext, value: pl.Expr) -> pl.Expr:
    def capitalised(text: str) -> str:
        return re.sub(r"[^\W_]+", lambda word: upper_text(word[0][0]) + lower_text(word[0][1:]), text)

    return context.rowwise(capitalised, value)


@define(
    "length(text) -> int4; char_length(text) -> int4; character_length(text) -> int4",
    "Number of characters.",
    family=_FAMILY,
)
def length(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.str.len_chars().cast(pl.Int32)


@define("octet_length(text) -> int4", "Number of bytes.", family=_FAMILY)
def octet_length(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.str.len_bytes().cast(pl.Int32)


@define("bit_length(text) -> int4", "Number of bits.", family=_FAMILY)
def bit_length(context: CallContext, value: pl.Expr) -> pl.Expr:
    return (value.str.len_bytes() * 8).cast(pl.Int32)


@define("length(bytea) -> int4; octet_length(bytea) -> int4", "Number of bytes.", family=_FAMILY)
def byte_length(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.bin.size().cast(pl.Int32)


@define("octet_length(bpchar) -> int4", "Number of bytes, padding included.", family=_FAMILY)
def padded_length(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.str.len_bytes().cast(pl.Int32)


@define(
    "substring(text, int4, int4) -> text; substr(text, int4, int4) -> text",
    "Characters from a place, so many.",
    family=_FAMILY,
    skips_null_rows=True,
)
def substring_count(context: CallContext, value: pl.Expr, start: pl.Expr, count: pl.Expr) -> pl.Expr:
    count = context.fail_where(count, count < 0, "negative_length").cast(pl.Int64)
    start = start.cast(pl.Int64)
    first = pl.max_horizontal(start, pl.lit(1, dtype=pl.Int64))
    length = pl.max_horizontal(start + count - first, pl.lit(0, dtype=pl.Int64))
    return value.str.slice(first - 1, length)


@define(
    "substring(text, int4) -> text; substr(text, int4) -> text",
    "Characters from a place to the end.",
    family=_FAMILY,
    skips_null_rows=True,
)
def substring_from(context: CallContext, value: pl.Expr, start: pl.Expr) -> pl.Expr:
    first = pl.max_horizontal(start.cast(pl.Int64), pl.lit(1, dtype=pl.Int64))
    return value.str.slice(first - 1)


@define(
    "left(text, int4) -> text",
    "First characters; with a negative count all but the last.",
    family=_FAMILY,
    skips_null_rows=True,
)
def left(context: CallContext, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    kept = pl.when(count >= 0).then(count).otherwise(value.str.len_chars().cast(pl.Int64) + count)
    return value.str.slice(0, kept.cast(pl.Int64).clip(0, None))


@define(
    "right(text, int4) -> text",
    "Last characters; with a negative count all but the first.",
    family=_FAMILY,
    skips_null_rows=True,
)
def right(context: CallContext, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    size = value.str.len_chars().cast(pl.Int64)
    least = pl.lit(-(2**31), dtype=pl.Int64)
    dropped = pl.when(count.cast(pl.Int64) == least).then(0).otherwise(-count.cast(pl.Int64))
    first = pl.when(count >= 0).then(size - count).otherwise(dropped)
    return value.str.slice(first.cast(pl.Int64).clip(0, None))


def _repeat(value: pl.Expr, times: pl.Expr) -> pl.Expr:
    return pl.when(value.is_not_null()).then(value.repeat_by(times.clip(0, None)).list.join(""))


@define("repeat(text, int4) -> text", "The text so many times.", family=_FAMILY, skips_null_rows=True)
def repeat(context: CallContext, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    size = value.str.len_bytes().cast(pl.Int64) * count.cast(pl.Int64)
    too_long = size > MAX_TEXT_CHARACTERS
    bounded = context.fail_where(pl.when(~too_long).then(count).otherwise(0), too_long, "text_size")
    return _repeat(value, bounded)


def _padding(context: CallContext, value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The width as checked, and the fill text for what is missing."""
    too_long = width > MAX_TEXT_CHARACTERS
    width = context.fail_where(pl.when(~too_long).then(width).otherwise(0), too_long, "text_size").cast(pl.Int64)
    missing = (width - value.str.len_chars().cast(pl.Int64)).clip(0, None)
    size = fill.str.len_chars().cast(pl.Int64)
    times = pl.when(size > 0).then(missing // pl.max_horizontal(size, pl.lit(1, dtype=pl.Int64)) + 1).otherwise(0)
    return width, _repeat(fill, times).str.slice(0, missing)


@define(
    "lpad(text, int4, text) -> text",
    "Fills up on the left, or cuts on the right.",
    family=_FAMILY,
    skips_null_rows=True,
)
def lpad(context: CallContext, value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    width, padding = _padding(context, value, width, fill)
    return pl.concat_str([padding, value.str.slice(0, width.clip(0, None))])


@define("lpad(text, int4) -> text", "Fills up on the left with blanks.", family=_FAMILY, skips_null_rows=True)
def lpad_blank(context: CallContext, value: pl.Expr, width: pl.Expr) -> pl.Expr:
    return lpad(context, value, width, pl.lit(" "))


@define("rpad(text, int4, text) -> text", "Fills up on the right, or cuts there.", family=_FAMILY, skips_null_rows=True)
def rpad(context: CallContext, value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    width, padding = _padding(context, value, width, fill)
    return pl.concat_str([value.str.slice(0, width.clip(0, None)), padding])


@define("rpad(text, int4) -> text", "Fills up on the right with blanks.", family=_FAMILY, skips_null_rows=True)
def rpad_blank(context: CallContext, value: pl.Expr, width: pl.Expr) -> pl.Expr:
    return rpad(context, value, width, pl.lit(" "))
