"""Text functions. Positions and lengths count characters from 1, as PostgreSQL does."""

import base64
import hashlib
import re
from collections.abc import Callable

import polars as pl

from query import fault
from query.bind.literals import BadLiteral
from query.functions.registry import Site, define
from query.limits import MAX_TEXT_CHARACTERS
from query.lower.texts import to_text

_FAMILY = "Text"


def _ascii(value: pl.Expr) -> pl.Expr:
    """True where bytes are characters, so that Polars' byte functions are exact."""
    return value.str.len_bytes() == value.str.len_chars()


def _or_rowwise(site: Site, value: pl.Expr, fast: pl.Expr, slow: Callable[[str], object]) -> pl.Expr:
    """`fast` for plain ASCII, `slow` for the rest."""
    plain = _ascii(value)
    return pl.when(plain).then(fast).otherwise(site.rowwise(slow, pl.when(~plain).then(value)))


def upper_text(text: str) -> str:
    """Upper case letter by letter: a letter whose upper case is two stays, as with towupper."""
    return "".join(changed if len(changed := letter.upper()) == 1 else letter for letter in text)


def lower_text(text: str) -> str:
    """Lower case letter by letter, the first letter of a lower case that is two."""
    return "".join(letter.lower()[0] for letter in text)


@define("upper(text) -> text", "Upper case.", family=_FAMILY)
def upper(site: Site, value: pl.Expr) -> pl.Expr:
    return _or_rowwise(site, value, value.str.to_uppercase(), upper_text)


@define("lower(text) -> text", "Lower case.", family=_FAMILY)
def lower(site: Site, value: pl.Expr) -> pl.Expr:
    return _or_rowwise(site, value, value.str.to_lowercase(), lower_text)


@define("initcap(text) -> text", "First letter of each word in upper case, the others in lower.", family=_FAMILY)
def initcap(site: Site, value: pl.Expr) -> pl.Expr:
    def capitalised(text: str) -> str:
        return re.sub(r"[^\W_]+", lambda word: upper_text(word[0][0]) + lower_text(word[0][1:]), text)

    return site.rowwise(capitalised, value)


@define(
    "length(text) -> int4; char_length(text) -> int4; character_length(text) -> int4",
    "Number of characters.",
    family=_FAMILY,
)
def length(site: Site, value: pl.Expr) -> pl.Expr:
    return value.str.len_chars().cast(pl.Int32)


@define("octet_length(text) -> int4", "Number of bytes.", family=_FAMILY)
def octet_length(site: Site, value: pl.Expr) -> pl.Expr:
    return value.str.len_bytes().cast(pl.Int32)


@define("bit_length(text) -> int4", "Number of bits.", family=_FAMILY)
def bit_length(site: Site, value: pl.Expr) -> pl.Expr:
    return (value.str.len_bytes() * 8).cast(pl.Int32)


@define("length(bytea) -> int4; octet_length(bytea) -> int4", "Number of bytes.", family=_FAMILY)
def byte_length(site: Site, value: pl.Expr) -> pl.Expr:
    return value.bin.size().cast(pl.Int32)


@define("octet_length(bpchar) -> int4", "Number of bytes, padding included.", family=_FAMILY)
def padded_length(site: Site, value: pl.Expr) -> pl.Expr:
    return value.str.len_bytes().cast(pl.Int32)


@define(
    "substring(text, int4, int4) -> text; substr(text, int4, int4) -> text",
    "Characters from a place, so many.",
    family=_FAMILY,
)
def substring_count(site: Site, value: pl.Expr, start: pl.Expr, count: pl.Expr) -> pl.Expr:
    present = value.is_not_null() & start.is_not_null()
    count = site.trap(count, present & (count < 0), "negative_length").cast(pl.Int64)
    start = start.cast(pl.Int64)
    first = pl.max_horizontal(start, pl.lit(1, dtype=pl.Int64))
    kept = pl.max_horizontal(start + count - first, pl.lit(0, dtype=pl.Int64))
    return pl.when(start.is_not_null() & count.is_not_null()).then(value.str.slice(first - 1, kept))


@define(
    "substring(text, int4) -> text; substr(text, int4) -> text", "Characters from a place to the end.", family=_FAMILY
)
def substring_from(site: Site, value: pl.Expr, start: pl.Expr) -> pl.Expr:
    first = pl.max_horizontal(start.cast(pl.Int64), pl.lit(1, dtype=pl.Int64))
    return pl.when(start.is_not_null()).then(value.str.slice(first - 1))


@define("left(text, int4) -> text", "First characters; with a negative count all but the last.", family=_FAMILY)
def left(site: Site, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    kept = pl.when(count >= 0).then(count).otherwise(value.str.len_chars().cast(pl.Int64) + count)
    return pl.when(count.is_not_null()).then(value.str.slice(0, kept.cast(pl.Int64).clip(0, None)))


@define("right(text, int4) -> text", "Last characters; with a negative count all but the first.", family=_FAMILY)
def right(site: Site, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    size = value.str.len_chars().cast(pl.Int64)
    first = pl.when(count >= 0).then(size - count).otherwise(-count.cast(pl.Int64))
    return pl.when(count.is_not_null()).then(value.str.slice(first.cast(pl.Int64).clip(0, None)))


def _repeated(value: pl.Expr, times: pl.Expr) -> pl.Expr:
    return pl.when(value.is_not_null()).then(value.repeat_by(times.clip(0, None)).list.join(""))


@define("repeat(text, int4) -> text", "The text so many times.", family=_FAMILY)
def repeat(site: Site, value: pl.Expr, count: pl.Expr) -> pl.Expr:
    size = value.str.len_bytes().cast(pl.Int64) * count.cast(pl.Int64)
    too_long = size > MAX_TEXT_CHARACTERS
    bounded = site.trap(pl.when(~too_long).then(count).otherwise(0), too_long, "text_size")
    return pl.when(count.is_not_null()).then(_repeated(value, bounded))


def _padding(site: Site, value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The width as checked, and the fill text for what is missing."""
    too_long = width > MAX_TEXT_CHARACTERS
    width = site.trap(pl.when(~too_long).then(width).otherwise(0), too_long, "text_size").cast(pl.Int64)
    missing = (width - value.str.len_chars().cast(pl.Int64)).clip(0, None)
    size = fill.str.len_chars().cast(pl.Int64)
    times = pl.when(size > 0).then(missing // pl.max_horizontal(size, pl.lit(1, dtype=pl.Int64)) + 1).otherwise(0)
    return width, _repeated(fill, times).str.slice(0, missing)


@define("lpad(text, int4, text) -> text", "Fills up on the left, or cuts on the right.", family=_FAMILY)
def lpad(site: Site, value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    width, padding = _padding(site, value, width, fill)
    return pl.concat_str([padding, value.str.slice(0, width.clip(0, None))])


@define("lpad(text, int4) -> text", "Fills up on the left with blanks.", family=_FAMILY)
def lpad_blank(site: Site, value: pl.Expr, width: pl.Expr) -> pl.Expr:
    return lpad(site, value, width, pl.lit(" "))


@define("rpad(text, int4, text) -> text", "Fills up on the right, or cuts there.", family=_FAMILY)
def rpad(site: Site, value: pl.Expr, width: pl.Expr, fill: pl.Expr) -> pl.Expr:
    width, padding = _padding(site, value, width, fill)
    return pl.concat_str([value.str.slice(0, width.clip(0, None)), padding])


@define("rpad(text, int4) -> text", "Fills up on the right with blanks.", family=_FAMILY)
def rpad_blank(site: Site, value: pl.Expr, width: pl.Expr) -> pl.Expr:
    return rpad(site, value, width, pl.lit(" "))


@define("btrim(text) -> text", "Without blanks at both ends.", family=_FAMILY)
def btrim(site: Site, value: pl.Expr) -> pl.Expr:
    return value.str.strip_chars(" ")


@define("ltrim(text) -> text", "Without blanks at the start.", family=_FAMILY)
def ltrim(site: Site, value: pl.Expr) -> pl.Expr:
    return value.str.strip_chars_start(" ")


@define("rtrim(text) -> text", "Without blanks at the end.", family=_FAMILY)
def rtrim(site: Site, value: pl.Expr) -> pl.Expr:
    return value.str.strip_chars_end(" ")


@define("btrim(text, text) -> text", "Without any of the characters at both ends.", family=_FAMILY)
def btrim_of(site: Site, value: pl.Expr, characters: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, chars: text.strip(chars) if chars else text, value, characters)


@define("ltrim(text, text) -> text", "Without any of the characters at the start.", family=_FAMILY)
def ltrim_of(site: Site, value: pl.Expr, characters: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, chars: text.lstrip(chars) if chars else text, value, characters)


@define("rtrim(text, text) -> text", "Without any of the characters at the end.", family=_FAMILY)
def rtrim_of(site: Site, value: pl.Expr, characters: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, chars: text.rstrip(chars) if chars else text, value, characters)


@define("strpos(text, text) -> int4", "Place of a text in another, 0 if it is not there.", family=_FAMILY)
def strpos(site: Site, value: pl.Expr, sought: pl.Expr) -> pl.Expr:
    fast = value.str.find(sought, literal=True).fill_null(-1).cast(pl.Int32) + 1
    plain = _ascii(value) & sought.is_not_null()
    slow = site.rowwise(lambda text, part: text.find(part) + 1, pl.when(~plain).then(value), sought)
    return pl.when(plain).then(fast).otherwise(slow)


@define("replace(text, text, text) -> text", "Every occurrence of a text replaced.", family=_FAMILY)
def replace(site: Site, value: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text, a, b: text.replace(a, b) if a else text, value, old, new)


@define("translate(text, text, text) -> text", "Each character replaced by the one in its place.", family=_FAMILY)
def translate(site: Site, value: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    def translated(text: str, source: str, target: str) -> str:
        table: dict[int, str | None] = {}
        for index, letter in enumerate(source):
            table.setdefault(ord(letter), target[index] if index < len(target) else None)
        return text.translate(table)

    return site.rowwise(translated, value, old, new)


@define("reverse(text) -> text", "The characters in reverse order.", family=_FAMILY)
def reverse(site: Site, value: pl.Expr) -> pl.Expr:
    return _or_rowwise(site, value, value.str.reverse(), lambda text: text[::-1])


@define(
    "split_part(text, text, int4) -> text", "A field between delimiters; negative counts from the end.", family=_FAMILY
)
def split_part(site: Site, value: pl.Expr, delimiter: pl.Expr, place: pl.Expr) -> pl.Expr:
    present = value.is_not_null() & delimiter.is_not_null()
    place = site.trap(place, present & (place == 0), "field_zero")

    def part(text: str, by: str, number: int) -> str:
        fields = text.split(by) if by else [text]
        index = number - 1 if number > 0 else len(fields) + number
        return fields[index] if 0 <= index < len(fields) else ""

    return site.rowwise(part, value, delimiter, place)


@define("starts_with(text, text) -> bool; ^@(text, text) -> bool", "True if the text starts so.", family=_FAMILY)
def starts_with(site: Site, value: pl.Expr, prefix: pl.Expr) -> pl.Expr:
    return value.str.starts_with(prefix)


@define("overlay(text, text, int4) -> text", "A part replaced by a text of the same length.", family=_FAMILY)
def overlay(site: Site, value: pl.Expr, new: pl.Expr, start: pl.Expr) -> pl.Expr:
    return overlay_count(site, value, new, start, new.str.len_chars().cast(pl.Int32))


@define("overlay(text, text, int4, int4) -> text", "So many characters from a place replaced.", family=_FAMILY)
def overlay_count(site: Site, value: pl.Expr, new: pl.Expr, start: pl.Expr, count: pl.Expr) -> pl.Expr:
    present = value.is_not_null() & new.is_not_null() & count.is_not_null()
    start = site.trap(start, present & (start <= 0), "negative_length")
    before = value.str.slice(0, start.cast(pl.Int64) - 1)
    after = value.str.slice((start.cast(pl.Int64) + count - 1).clip(0, None))
    return pl.concat_str([before, new, after])


@define("ascii(text) -> int4", "Code of the first character; 0 of an empty text.", family=_FAMILY)
def ascii_code(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: ord(text[0]) if text else 0, value)


@define("chr(int4) -> text", "Character with a code.", family=_FAMILY)
def character(site: Site, code: pl.Expr) -> pl.Expr:
    code = site.trap(code, code == 0, "chr_zero")
    code = site.trap(code, code < 0, "chr_negative")
    code = site.trap(code, code > 0x10FFFF, "chr_range")
    return site.rowwise(chr, code)


@define("to_hex(int4) -> text; to_hex(int8) -> text", "Hexadecimal digits, two's complement.", family=_FAMILY)
def to_hex(site: Site, value: pl.Expr) -> pl.Expr:
    size = 2 ** (32 if site.types[0].name == "int4" else 64)
    return site.rowwise(lambda number: format(number % size, "x"), value)


@define("md5(text) -> text", "MD5 as hexadecimal digits.", family=_FAMILY)
def md5(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), value)


@define("sha256(bytea) -> bytea", "SHA-256.", family=_FAMILY)
def sha256(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda data: hashlib.sha256(data).digest(), value)


@define("encode(bytea, text!) -> text", "Bytes as base64, hex or escape.", family=_FAMILY)
def encode(site: Site, value: pl.Expr, form: object) -> pl.Expr:
    if form == "hex":
        return value.bin.encode("hex")
    if form == "base64":
        return site.rowwise(_base64, value)
    raise fault.unsupported(f"encoding {form}", site.position, "use base64 or hex")


def _base64(data: bytes) -> str:
    """PostgreSQL breaks lines after 76 characters."""
    text = base64.b64encode(data).decode()
    return "\n".join(text[place : place + 76] for place in range(0, len(text), 76))


@define("concat(any...) -> text", "The arguments' texts in a row; NULL counts as empty.", family=_FAMILY)
def concat(site: Site, *values: pl.Expr) -> pl.Expr:
    return pl.concat_str([_shown(site, index, value).fill_null("") for index, value in enumerate(values)])


@define("concat_ws(text, any...) -> text", "The arguments that are not NULL, with a separator.", family=_FAMILY)
def concat_ws(site: Site, separator: pl.Expr, *values: pl.Expr) -> pl.Expr:
    texts = [_shown(site, index + 1, value) for index, value in enumerate(values)]
    result = pl.lit("")
    started = pl.lit(False)
    for text in texts:
        joined = pl.when(started).then(pl.concat_str([result, separator, text])).otherwise(text)
        result = pl.when(text.is_not_null()).then(joined).otherwise(result)
        started = started | text.is_not_null()
    return pl.when(separator.is_not_null()).then(result)


def _shown(site: Site, index: int, value: pl.Expr) -> pl.Expr:
    """An argument as PostgreSQL's output function shows it: booleans as t and f."""
    kind = site.types[index]
    if kind.name == "bool":
        return pl.when(value).then(pl.lit("t")).when(~value).then(pl.lit("f"))
    return to_text(site, value, kind)


@define("||(text, text) -> text", "Concatenation.", family=_FAMILY)
def concatenated(site: Site, left_text: pl.Expr, right_text: pl.Expr) -> pl.Expr:
    return left_text + right_text


@define("||(text, anynonarray) -> text", "Concatenation with the text of any value.", family=_FAMILY)
def concatenated_right(site: Site, text: pl.Expr, value: pl.Expr) -> pl.Expr:
    return text + to_text(site, value, site.types[1])


@define("||(anynonarray, text) -> text", "Concatenation with the text of any value.", family=_FAMILY)
def concatenated_left(site: Site, value: pl.Expr, text: pl.Expr) -> pl.Expr:
    return to_text(site, value, site.types[0]) + text


_DIRECTIVE = re.compile(r"%(?:(\d+)\$)?(.)", re.DOTALL)


@define("format(text!) -> text; format(text!, any...) -> text", "Text with %s, %I and %L filled in.", family=_FAMILY)
def format_text(site: Site, pattern: object, *values: pl.Expr) -> pl.Expr:
    parts: list[pl.Expr] = []
    text, place, number = str(pattern), 0, 0
    for match in _DIRECTIVE.finditer(text):
        parts.append(pl.lit(text[place : match.start()]))
        place = match.end()
        if match[2] == "%":
            parts.append(pl.lit("%"))
            continue
        number = int(match[1]) if match[1] else number + 1
        if not 1 <= number <= len(values):
            raise fault.invalid(fault.INVALID_PARAMETER, "too few arguments for format()", site.position)
        parts.append(_formatted(site, match[2], _shown(site, number, values[number - 1])))
    parts.append(pl.lit(text[place:]))
    return pl.concat_str(parts)


def _formatted(site: Site, directive: str, value: pl.Expr) -> pl.Expr:
    if directive == "s":
        return value.fill_null("")
    if directive == "L":
        return site.rowwise(quoted_literal, value).fill_null("NULL")
    if directive == "I":
        return site.rowwise(quoted_identifier, value)
    raise fault.unsupported(f"format directive %{directive}", site.position, "use %s, %I or %L")


def quoted_literal(text: str) -> str:
    """The text as an SQL literal."""
    quoted = "'" + text.replace("'", "''").replace("\\", "\\\\") + "'"
    return f" E{quoted}" if "\\" in text else quoted


def quoted_identifier(text: str) -> str:
    """The text as an SQL identifier, quoted if it has to be."""
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", text) is not None and text not in _RESERVED
    return text if plain else '"' + text.replace('"', '""') + '"'


_RESERVED = frozenset(
    (
        *("all", "and", "any", "array", "as", "asc", "both", "case", "cast", "check", "column", "create"),
        *("current_date", "default", "desc", "distinct", "do", "else", "end", "except", "false", "fetch"),
        *("for", "from", "grant", "group", "having", "in", "intersect", "into", "leading", "limit", "not"),
        *("null", "offset", "on", "only", "or", "order", "primary", "references", "select", "session_user"),
        *("some", "table", "then", "to", "trailing", "true", "union", "unique", "user", "using", "when"),
        *("where", "window", "with"),
    )
)


@define("decode(text, text!) -> bytea", "Bytes from base64 or hex.", family=_FAMILY)
def decode(site: Site, value: pl.Expr, form: object) -> pl.Expr:
    if form not in ("hex", "base64"):
        raise fault.unsupported(f"decoding {form}", site.position, "use base64 or hex")

    def decoded(text: str) -> bytes:
        try:
            return bytes.fromhex(text) if form == "hex" else base64.b64decode(re.sub(r"\s", "", text), validate=True)
        except ValueError as error:
            raise BadLiteral(fault.INVALID_PARAMETER, f"invalid {form} data") from error

    return site.rowwise(decoded, value)


@define("convert_from(bytea, text!) -> text", "Text from bytes in UTF8.", family=_FAMILY)
def convert_from(site: Site, value: pl.Expr, encoding: object) -> pl.Expr:
    if str(encoding).upper().replace("-", "") != "UTF8":
        raise fault.unsupported(f"encoding {encoding}", site.position, "use UTF8")

    def decoded(data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise BadLiteral("22021", 'invalid byte sequence for encoding "UTF8"') from error

    return site.rowwise(decoded, value)


@define("quote_nullable(text) -> text", "The text as an SQL literal, NULL as NULL.", family=_FAMILY)
def quote_nullable(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: quoted_literal(text).lstrip(), value).fill_null("NULL")


@define("quote_literal(text) -> text", "The text as an SQL literal.", family=_FAMILY)
def quote_literal(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(lambda text: quoted_literal(text).lstrip(), value)


@define("quote_ident(text) -> text", "The text as an SQL identifier.", family=_FAMILY)
def quote_ident(site: Site, value: pl.Expr) -> pl.Expr:
    return site.rowwise(quoted_identifier, value)


@define("num_nulls(any...) -> int4", "How many arguments are NULL.", family=_FAMILY)
def num_nulls(site: Site, *values: pl.Expr) -> pl.Expr:
    return pl.sum_horizontal(value.is_null().cast(pl.Int32) for value in values).cast(pl.Int32)


@define("num_nonnulls(any...) -> int4", "How many arguments are not NULL.", family=_FAMILY)
def num_nonnulls(site: Site, *values: pl.Expr) -> pl.Expr:
    return pl.sum_horizontal(value.is_not_null().cast(pl.Int32) for value in values).cast(pl.Int32)
