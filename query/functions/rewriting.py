"""Text functions that look for a text in another, or put one in its place: trim, replace, translate, overlay."""

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define
from query.functions.strings import is_ascii, or_rowwise

declare_row_error("field_zero", fault.INVALID_PARAMETER, "field position must not be zero")

_FAMILY = "Text"


def constant_text(context: CallContext, index: int) -> str | None:
    """The text that an argument is for all rows."""
    value = context.constant(index)
    return value if isinstance(value, str) else None


@define("btrim(text) -> text", "Without blanks at both ends.", family=_FAMILY)
def btrim(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.str.strip_chars(" ")


@define("ltrim(text) -> text", "Without blanks at the start.", family=_FAMILY)
def ltrim(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.str.strip_chars_start(" ")


@define("rtrim(text) -> text", "Without blanks at the end.", family=_FAMILY)
def rtrim(context: CallContext, value: pl.Expr) -> pl.Expr:
    return value.str.strip_chars_end(" ")


@define("btrim(text, text) -> text", "Without any of the characters at both ends.", family=_FAMILY)
def btrim_of(context: CallContext, value: pl.Expr, characters: pl.Expr) -> pl.Expr:
    if (known := constant_text(context, 1)) is not None:
        return value.str.strip_chars(known) if known else value
    return context.rowwise(lambda text, chars: text.strip(chars) if chars else text, value, characters)


@define("ltrim(text, text) -> text", "Without any of the characters at the start.", family=_FAMILY)
def ltrim_of(context: CallContext, value: pl.Expr, characters: pl.Expr) -> pl.Expr:
    if (known := constant_text(context, 1)) is not None:
        return value.str.strip_chars_start(known) if known else value
    return context.rowwise(lambda text, chars: text.lstrip(chars) if chars else text, value, characters)


@define("rtrim(text, text) -> text", "Without any of the characters at the end.", family=_FAMILY)
def rtrim_of(context: CallContext, value: pl.Expr, characters: pl.Expr) -> pl.Expr:
    if (known := constant_text(context, 1)) is not None:
        return value.str.strip_chars_end(known) if known else value
    return context.rowwise(lambda text, chars: text.rstrip(chars) if chars else text, value, characters)


@define("strpos(text, text) -> int4", "Place of a text in another, 0 if it is not there.", family=_FAMILY)
def strpos(context: CallContext, value: pl.Expr, sought: pl.Expr) -> pl.Expr:
    fast = value.str.find(sought, literal=True).fill_null(-1).cast(pl.Int32) + 1
    plain = is_ascii(value) & sought.is_not_null()
    slow = context.rowwise(lambda text, part: text.find(part) + 1, pl.when(~plain).then(value), sought)
    return pl.when(plain).then(fast).otherwise(slow)


@define("position of bytes(bytea, bytea) -> int4", "Place of bytes in others, 0 if they are not there.", family=_FAMILY)
def position_of_bytes(context: CallContext, value: pl.Expr, sought: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda data, part: data.find(part) + 1, value, sought)


@define("replace(text, text, text) -> text", "Every occurrence of a text replaced.", family=_FAMILY)
def replace(context: CallContext, value: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    sought = constant_text(context, 1)
    if sought is not None and constant_text(context, 2) is not None:
        return value.str.replace_all(sought, new, literal=True) if sought else value
    return context.rowwise(lambda text, a, b: text.replace(a, b) if a else text, value, old, new)


@define("translate(text, text, text) -> text", "Each character replaced by the one in its place.", family=_FAMILY)
def translate(context: CallContext, value: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    source, target = constant_text(context, 1), constant_text(context, 2)
    if source is not None and target is not None:
        letters = list(dict.fromkeys(source))
        if not letters:
            return value
        return value.str.replace_many(letters, [target[at : at + 1] for at in map(source.index, letters)])

    def translated(text: str, source: str, target: str) -> str:
        table: dict[int, str | None] = {}
        for index, letter in enumerate(source):
            table.setdefault(ord(letter), target[index] if index < len(target) else None)
        return text.translate(table)

    return context.rowwise(translated, value, old, new)


@define("reverse(text) -> text", "The characters in reverse order.", family=_FAMILY)
def reverse(context: CallContext, value: pl.Expr) -> pl.Expr:
    return or_rowwise(context, value, value.str.reverse(), lambda text: text[::-1])


@define(
    "split_part(text, text, int4) -> text",
    "A field between delimiters; negative counts from the end.",
    family=_FAMILY,
    skips_null_rows=True,
)
def split_part(context: CallContext, value: pl.Expr, delimiter: pl.Expr, position: pl.Expr) -> pl.Expr:
    separator, number = constant_text(context, 1), context.constant(2)
    if separator is not None and isinstance(number, int) and number != 0 and abs(number) <= _MOST_FIELDS:
        return _field(value, separator, number)
    position = context.fail_where(position, position == 0, "field_zero")

    def part(text: str, by: str, number: int) -> str:
        fields = text.split(by) if by else [text]
        index = number - 1 if number > 0 else len(fields) + number
        return fields[index] if 0 <= index < len(fields) else ""

    return context.rowwise(part, value, delimiter, position)


_MOST_FIELDS = 64


def _field(value: pl.Expr, separator: str, number: int) -> pl.Expr:
    """The field with a number between separators; nothing if there is none."""
    if not separator:
        return value if abs(number) == 1 else pl.when(value.is_not_null()).then(pl.lit(""))
    if number < 0:
        return value.str.split(separator).list.get(number, null_on_oob=True).fill_null("")
    return value.str.splitn(separator, number + 1).struct.field(f"field_{number - 1}").fill_null("")


@define("starts_with(text, text) -> bool; ^@(text, text) -> bool", "True if the text starts so.", family=_FAMILY)
def starts_with(context: CallContext, value: pl.Expr, prefix: pl.Expr) -> pl.Expr:
    return value.str.starts_with(prefix)


@define(
    "overlay(text, text, int4) -> text",
    "A part replaced by a text of the same length.",
    family=_FAMILY,
    skips_null_rows=True,
)
def overlay(context: CallContext, value: pl.Expr, new: pl.Expr, start: pl.Expr) -> pl.Expr:
    return overlay_count(context, value, new, start, new.str.len_chars().cast(pl.Int32))


@define(
    "overlay(text, text, int4, int4) -> text",
    "So many characters from a place replaced.",
    family=_FAMILY,
    skips_null_rows=True,
)
def overlay_count(context: CallContext, value: pl.Expr, new: pl.Expr, start: pl.Expr, count: pl.Expr) -> pl.Expr:
    start = context.fail_where(start, start <= 0, "negative_length").cast(pl.Int64)
    end = start + count
    end = context.fail_where(end, ~end.is_between(-(2**31), 2**31 - 1), "int4_range")
    before = value.str.slice(0, start - 1)
    after = value.str.slice((end - 1).clip(0, None))
    return pl.concat_str([before, new, after])
