"""Texts made of several values: concatenation, format, and quoting for SQL."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.expr.text_output import output_text, to_text
from query.functions.registry import define
from query.pg.types import INTEGERS

declare_row_error("null_identifier", "22004", "null values cannot be formatted as an SQL identifier")

_FAMILY = "Text"
_QUOTED_WORDS: Final = Path(__file__).with_name("quoted_words.txt")


@define("concat(any...) -> text", "The arguments' texts in a row; NULL counts as empty.", family=_FAMILY, strict=False)
def concat(context: CallContext, *values: pl.Expr) -> pl.Expr:
    return pl.concat_str([_argument_text(context, index, value).fill_null("") for index, value in enumerate(values)])


@define(
    "concat_ws(text, any...) -> text",
    "The arguments that are not NULL, with a separator.",
    family=_FAMILY,
    strict=False,
)
def concat_ws(context: CallContext, separator: pl.Expr, *values: pl.Expr) -> pl.Expr:
    texts = [_argument_text(context, index + 1, value) for index, value in enumerate(values)]
    result = pl.lit("")
    started = pl.lit(False)
    for text in texts:
        joined = pl.when(started).then(pl.concat_str([result, separator, text])).otherwise(text)
        result = pl.when(text.is_not_null()).then(joined).otherwise(result)
        started = started | text.is_not_null()
    return pl.when(separator.is_not_null()).then(result)


def _argument_text(context: CallContext, index: int, value: pl.Expr) -> pl.Expr:
    """An argument as PostgreSQL's output function shows it."""
    return output_text(context, value, context.types[index])


@define("||(text, text) -> text", "Concatenation.", family=_FAMILY)
def concatenate(context: CallContext, left_text: pl.Expr, right_text: pl.Expr) -> pl.Expr:
    return left_text + right_text


@define("||(text, anynonarray) -> text", "Concatenation with the text of any value.", family=_FAMILY)
def concatenated_right(context: CallContext, text: pl.Expr, value: pl.Expr) -> pl.Expr:
    return text + to_text(context, value, context.types[1])


@define("||(anynonarray, text) -> text", "Concatenation with the text of any value.", family=_FAMILY)
def concatenated_left(context: CallContext, value: pl.Expr, text: pl.Expr) -> pl.Expr:
    return to_text(context, value, context.types[0]) + text


_DIRECTIVE: Final = re.compile(r"%(?:(\d+)\$)?(-*)(\d+|\*(?:\d+\$)?)?(.|$)", re.DOTALL)


@define(
    "format(text!) -> text; format(text!, any...) -> text",
    "Text with %s, %I and %L filled in, to a width as in %-10s or %*s.",
    family=_FAMILY,
    strict=False,
)
def format_text(context: CallContext, pattern: object, *values: pl.Expr) -> pl.Expr:
    parts: list[pl.Expr] = []
    text, position, number = str(pattern), 0, 0
    for match in _DIRECTIVE.finditer(text):
        parts.append(pl.lit(text[position : match.start()]))
        position = match.end()
        if match[0] == "%%":
            parts.append(pl.lit("%"))
            continue
        if not match[4]:
            message = "unterminated format() type specifier"
            raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
        width, number = _width(context, match[3], number, values)
        number = _argument_number(context, match[1], number, values)
        value = _format(context, match[4], _argument_text(context, number, values[number - 1]))
        parts.append(value if width is None else _padded(context, value, width, bool(match[2])))
    parts.append(pl.lit(text[position:]))
    return pl.concat_str(parts)


def _argument_number(context: CallContext, written: str | None, before: int, values: Sequence[pl.Expr]) -> int:
    """Which argument is meant: the one that is named, else the next."""
    number = int(written) if written else before + 1
    if number == 0:
        message = "format specifies argument 0, but arguments are numbered from 1"
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    if number > len(values):
        raise fault.invalid(fault.INVALID_PARAMETER, "too few arguments for format()", context.position)
    return number


def _width(
    context: CallContext, written: str | None, number: int, values: Sequence[pl.Expr]
) -> tuple[pl.Expr | None, int]:
    """The width of a directive, `10`, or `*` for the next argument; and the argument that was used last."""
    if not written:
        return None, number
    if written[0] != "*":
        return pl.lit(int(written), dtype=pl.Int64), number
    number = _argument_number(context, written[1:].rstrip("$"), number, values)
    if context.types[number].name not in INTEGERS:
        raise fault.unsupported("a width that is no integer in format", context.position)
    return values[number - 1].cast(pl.Int64).fill_null(0), number


def _padded(context: CallContext, value: pl.Expr, width: pl.Expr, left: bool) -> pl.Expr:
    """The text with blanks before it, or behind it for a negative width."""

    def pad(text: str, columns: int) -> str:
        return text.ljust(abs(columns)) if left or columns < 0 else text.rjust(columns)

    return context.rowwise(pad, value, width)


def _format(context: CallContext, directive: str, value: pl.Expr) -> pl.Expr:
    if directive == "s":
        return value.fill_null("")
    if directive == "L":
        return context.rowwise(quoted_literal, value).fill_null("NULL")
    if directive == "I":
        return context.rowwise(quoted_identifier, context.fail_where(value, value.is_null(), "null_identifier"))
    message = f'unrecognized format() type specifier "{directive}"'
    raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)


def quoted_literal(text: str) -> str:
    """The text as an SQL literal."""
    quoted = "'" + text.replace("'", "''").replace("\\", "\\\\") + "'"
    return f"E{quoted}" if "\\" in text else quoted


def quoted_identifier(text: str) -> str:
    """The text as an SQL identifier, quoted if it has to be."""
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", text) is not None and text not in _reserved_words()
    return text if plain else '"' + text.replace('"', '""') + '"'


@cache
def _reserved_words() -> frozenset[str]:
    """Words that are no plain identifiers: PostgreSQL 18's keywords but for the unreserved ones."""
    return frozenset(_QUOTED_WORDS.read_text("ascii").split())


@define("quote_literal(anynonarray) -> text", "The value's text as an SQL literal.", family=_FAMILY)
def quote_value(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(quoted_literal, to_text(context, value, context.types[0]))


@define(
    "quote_nullable(anynonarray) -> text",
    "The value's text as an SQL literal, NULL as NULL.",
    family=_FAMILY,
    strict=False,
)
def quote_nullable_value(context: CallContext, value: pl.Expr) -> pl.Expr:
    return quote_value(context, value).fill_null("NULL")


@define("quote_nullable(text) -> text", "The text as an SQL literal, NULL as NULL.", family=_FAMILY, strict=False)
def quote_nullable(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(quoted_literal, value).fill_null("NULL")


@define("quote_literal(text) -> text", "The text as an SQL literal.", family=_FAMILY)
def quote_literal(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(quoted_literal, value)


@define("quote_ident(text) -> text", "The text as an SQL identifier.", family=_FAMILY)
def quote_ident(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(quoted_identifier, value)


@define("num_nulls(any...) -> int4", "How many arguments are NULL.", family=_FAMILY, strict=False)
def num_nulls(context: CallContext, *values: pl.Expr) -> pl.Expr:
    return pl.sum_horizontal(value.is_null().cast(pl.Int32) for value in values).cast(pl.Int32)


@define("num_nonnulls(any...) -> int4", "How many arguments are not NULL.", family=_FAMILY, strict=False)
def num_nonnulls(context: CallContext, *values: pl.Expr) -> pl.Expr:
    return pl.sum_horizontal(value.is_not_null().cast(pl.Int32) for value in values).cast(pl.Int32)
