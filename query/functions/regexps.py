"""LIKE, SIMILAR TO and regular expressions, with PostgreSQL's meaning or a refusal."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import row_fault
from query.functions.registry import argument_names, define
from query.pg.patterns.backtracking import explodes
from query.pg.patterns.dissect import Dissector
from query.pg.patterns.like import NOTHING, BadPattern, BadSeparators, Like, like, similar
from query.pg.patterns.longest_match import is_lazy, same_groups
from query.pg.patterns.render import needs_python, python, rust
from query.pg.patterns.tree import BadRegex, Regex, UnsupportedRegex, parse_regex
from query.pg.types import TEXT, array_of

_FAMILY = "Patterns"


def parse_pattern(context: CallContext, pattern: object, flags: str = "") -> Regex:
    try:
        return parse_regex(str(pattern), flags)
    except BadRegex as error:
        raise fault.invalid(fault.INVALID_REGULAR_EXPRESSION, str(error), context.position) from error
    except UnsupportedRegex as error:
        raise fault.unsupported(str(error), context.position) from error


def _python(context: CallContext, regex: Regex) -> "re.Pattern[str]":
    try:
        return re.compile(python(regex))
    except (re.error, UnsupportedRegex, OverflowError, RecursionError) as error:
        raise fault.unsupported(f"this regular expression ({error})", context.position) from error


def _find(context: CallContext, value: pl.Expr, regex: Regex) -> pl.Expr:
    """True where the expression matches anywhere."""
    if needs_python(regex.root):
        search = matcher(context, regex).search
        return context.rowwise(lambda text: search(text) is not None, value)
    try:
        return value.str.contains(rust(regex))
    except UnsupportedRegex as error:
        raise fault.unsupported(str(error), context.position) from error


def is_native(regex: Regex) -> bool:
    """True for an expression whose first match, which Polars finds, is the one that PostgreSQL finds."""
    return not needs_python(regex.root) and same_groups(regex)


class Match(Protocol):
    """A match: Python's, or our own."""

    def __getitem__(self, group: int, /) -> str | None: ...

    def start(self, group: int = 0, /) -> int: ...

    def end(self, group: int = 0, /) -> int: ...

    def groups(self) -> tuple[str | None, ...]: ...


class Matcher(Protocol):
    """An expression for finding matches row by row."""

    @property
    def groups(self) -> int: ...

    def search(self, text: str, start: int = 0, /) -> Match | None: ...

    def finditer(self, text: str, start: int = 0, /) -> Iterator[Match]: ...


def matcher(context: CallContext, regex: Regex) -> Matcher:
    """Python's matcher where it finds what PostgreSQL finds, and does not try for ever; else our own. Python looks for
    more at the place of an empty match, which a quantifier that is not greedy may have left."""
    if is_native(regex) and not explodes(regex) and not (is_lazy(regex) and matches_nothing(context, regex)):
        return _python(context, regex)
    try:
        return Dissector(regex)
    except (re.error, UnsupportedRegex) as error:
        raise fault.unsupported(f"this regular expression ({error})", context.position) from error


# --- LIKE ----------------------------------------------------------------------------------------------------------


def _like(context: CallContext, value: pl.Expr, pattern: object, escape: object, ignore_case: bool) -> pl.Expr:
    try:
        parsed = like(str(pattern), str(escape), ignore_case)
    except BadPattern as error:
        raise fault.invalid(fault.INVALID_ESCAPE, str(error), context.position) from error
    pieces = parsed.pieces
    if parsed.fails:
        never = pl.when(value.is_not_null()).then(False)
        return context.fail_where(never, value.str.contains(parsed.fails), "like_escape")
    if ignore_case:
        return value.str.contains(parsed.search)
    if pieces is None or len(pieces) > 3 or (len(pieces) == 3 and any(pieces[::2])):
        return value.str.contains(parsed.search)
    if len(pieces) == 1:
        return value == pl.lit(pieces[0])
    if len(pieces) == 3:
        return value.str.contains(pieces[1], literal=True)
    first, last = pieces
    if first and last:
        return value.str.contains(parsed.search)
    return value.str.starts_with(first) if first else value.str.ends_with(last)


@define("~~(text, text!, text!) -> bool", "LIKE.", family=_FAMILY)
def like_constant(context: CallContext, value: pl.Expr, pattern: object, escape: object) -> pl.Expr:
    return _like(context, value, pattern, escape, ignore_case=False)


def _as_text(context: CallContext, value: pl.Expr) -> pl.Expr:
    """Bytes as the characters of these codes."""
    return replace(context, result=TEXT).rowwise(lambda data: data.decode("latin-1"), value)


@define("~~(bytea, bytea!, text!) -> bool", "LIKE of bytes.", family=_FAMILY)
def like_bytes(context: CallContext, value: pl.Expr, pattern: object, escape: object) -> pl.Expr:
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else str(pattern)
    return _like(context, _as_text(context, value), text, escape, ignore_case=False)


@define("~~*(text, text!, text!) -> bool", "ILIKE.", family=_FAMILY)
def ilike_constant(context: CallContext, value: pl.Expr, pattern: object, escape: object) -> pl.Expr:
    return _like(context, value, pattern, escape, ignore_case=True)


def _like_column(context: CallContext, value: pl.Expr, pattern: pl.Expr, escape: object, ignore_case: bool) -> pl.Expr:
    """Each distinct pattern becomes an expression once, which Polars looks for in linear time."""
    texts = replace(context, types=(TEXT,), result=TEXT)

    def parse_pattern(pattern_text: str) -> Like:
        try:
            return like(pattern_text, str(escape), ignore_case)
        except BadPattern as error:
            raise row_fault(fault.INVALID_ESCAPE, str(error), context.position) from error

    patterns = pl.when(value.is_not_null()).then(pattern)
    matches = value.str.contains(texts.rowwise(lambda pattern_text: parse_pattern(pattern_text).search, patterns))
    fails = value.str.contains(
        texts.rowwise(lambda pattern_text: parse_pattern(pattern_text).fails or NOTHING, patterns)
    )
    return context.fail_where(matches, fails, "like_escape")


@define("like(text, text, text!) -> bool", "LIKE a pattern from a column.", family=_FAMILY)
def like_column(context: CallContext, value: pl.Expr, pattern: pl.Expr, escape: object) -> pl.Expr:
    return _like_column(context, value, pattern, escape, ignore_case=False)


@define("ilike(text, text, text!) -> bool", "ILIKE a pattern from a column.", family=_FAMILY)
def ilike_column(context: CallContext, value: pl.Expr, pattern: pl.Expr, escape: object) -> pl.Expr:
    return _like_column(context, value, pattern, escape, ignore_case=True)


@define("similar to(text, text!, text!) -> bool", "SIMILAR TO.", family=_FAMILY)
def similar_to(context: CallContext, value: pl.Expr, pattern: object, escape: object) -> pl.Expr:
    try:
        return _find(context, value, parse_pattern(context, similar(str(pattern), str(escape))))
    except BadPattern as error:
        raise fault.invalid(fault.INVALID_ESCAPE, str(error), context.position) from error


# --- regular expressions -------------------------------------------------------------------------------------------


@define("~(text, text!) -> bool; regexp_like(text, text!) -> bool", "Matches a regular expression.", family=_FAMILY)
def matches(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    return _find(context, value, parse_pattern(context, pattern))


@define("~*(text, text!) -> bool", "Matches a regular expression, case ignored.", family=_FAMILY)
def matches_ignoring_case(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    return _find(context, value, parse_pattern(context, pattern, "i"))


@define("regexp_like(text, text!, text!) -> bool", "Matches a regular expression with flags.", family=_FAMILY)
def regexp_like(context: CallContext, value: pl.Expr, pattern: object, flags: object) -> pl.Expr:
    return _find(context, value, parse_pattern(context, pattern, checked_flags(context, flags)))


def checked_flags(context: CallContext, flags: object, allow_global: bool = False) -> str:
    text = str(flags)
    if "g" in text and not allow_global:
        message = 'this function does not support the "global" option'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    if set(text) & set("bceqx"):
        raise fault.unsupported(f"the regular expression option in {text!r}", context.position)
    unknown = set(text) - set("gicnmpwst")
    if unknown:
        message = f'invalid regular expression option: "{min(unknown)}"'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    return text.replace("g", "")


@define("substring(text, text!) -> text", "Part that matches: the first group, or all.", family=_FAMILY)
def substring(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    regex = parse_pattern(context, pattern)
    if is_native(regex):
        return value.str.extract(rust(regex), 1 if regex.groups else 0)
    compiled = matcher(context, regex)

    def part(text: str) -> str | None:
        match = compiled.search(text)
        return None if match is None else match[1 if regex.groups else 0]

    return context.rowwise(part, value)


@define(
    "substring(text, text!, text!) -> text",
    "Part that an SQL regular expression matches, between two quotes behind the escape character.",
    family=_FAMILY,
)
def substring_similar(context: CallContext, value: pl.Expr, pattern: object, escape: object) -> pl.Expr:
    if len(str(escape)) > 1:
        message, hint = "invalid escape string", "Escape string must be empty or one character."
        raise fault.invalid(fault.INVALID_ESCAPE, message, context.position, hint)
    try:
        expression = similar(str(pattern), str(escape), separates=True)
    except BadPattern as error:
        raise fault.invalid(fault.INVALID_ESCAPE, str(error), context.position) from error
    except BadSeparators as error:
        message = "SQL regular expression may not contain more than two escape-double-quote separators"
        raise fault.invalid("2200C", message, context.position) from error
    return substring(context, value, expression)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A replacement text: literal parts and group numbers; group 0 is the whole match."""

    parts: tuple[str | int, ...]

    def render(self, match: Match) -> str:
        return "".join((match[part] or "") if isinstance(part, int) else part for part in self.parts)


def replacement_of(text: str, groups: int) -> Replacement:
    parts: list[str | int] = [""]
    position = 0
    while position < len(text):
        letter, following = text[position], text[position + 1 : position + 2]
        if letter == "\\" and following and following in "123456789&\\":
            if following == "\\":
                parts.append("\\")
            elif following == "&":
                parts.append(0)
            elif int(following) <= groups:
                parts.append(int(following))
            position += 2
            continue
        parts.append(letter)
        position += 1
    return Replacement(tuple(parts))


def _replace(context: CallContext, value: pl.Expr, pattern: object, new: object, flags: str) -> pl.Expr:
    regex = parse_pattern(context, pattern, checked_flags(context, flags, allow_global=True))
    replacement = replacement_of(str(new), regex.groups)
    everywhere = "g" in flags
    if is_native(regex) and not (everywhere and matches_nothing(context, regex)):
        return _replaced_natively(value, regex, replacement, everywhere)
    compiled = matcher(context, regex)
    most = None if everywhere else 1
    return context.rowwise(lambda text: replaced(text, islice(compiled.finditer(text), most), replacement), value)


def matches_nothing(context: CallContext, regex: Regex) -> bool:
    """True if the empty text matches: Polars does not see an empty match behind one that was not empty."""
    return _python(context, regex).fullmatch("") is not None


def replaced(text: str, matches: Iterable[Match], replacement: Replacement) -> str:
    """The text with each match replaced."""
    parts, position = [], 0
    for match in matches:
        parts += [text[position : match.start()], replacement.render(match)]
        position = match.end()
    return "".join([*parts, text[position:]])


def _replaced_natively(value: pl.Expr, regex: Regex, replacement: Replacement, everywhere: bool) -> pl.Expr:
    text = "".join(f"${{{part}}}" if isinstance(part, int) else part.replace("$", "$$") for part in replacement.parts)
    return value.str.replace_all(rust(regex), text) if everywhere else value.str.replace(rust(regex), text)


@define("regexp_replace(text, text!, text!) -> text", "First match replaced; \\1 and \\& refer to it.", family=_FAMILY)
def regexp_replace(context: CallContext, value: pl.Expr, pattern: object, new: object) -> pl.Expr:
    return _replace(context, value, pattern, new, "")


@define("regexp_replace(text, text!, text!, text!) -> text", "Matches replaced; flag g for all.", family=_FAMILY)
def regexp_replace_flags(context: CallContext, value: pl.Expr, pattern: object, new: object, flags: object) -> pl.Expr:
    return _replace(context, value, pattern, new, str(flags))


def _over_matches(
    context: CallContext, value: pl.Expr, pattern: object, flags: str, build: Callable[[Matcher, str], object]
) -> pl.Expr:
    compiled = matcher(context, parse_pattern(context, pattern, flags))
    return context.rowwise(lambda text: build(compiled, text), value)


def _groups(match: Match) -> list[str | None]:
    return list(match.groups()) or [match[0]]


@define(
    "regexp_match(text, text!) -> text[]",
    "Groups of the first match as an array; NULL without one.",
    family=_FAMILY,
    result=lambda types: array_of(TEXT),
)
def regexp_match(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    return regexp_match_flags(context, value, pattern, "")


@define(
    "regexp_match(text, text!, text!) -> text[]",
    "Groups of the first match as an array; NULL without one.",
    family=_FAMILY,
    result=lambda types: array_of(TEXT),
)
def regexp_match_flags(context: CallContext, value: pl.Expr, pattern: object, flags: object) -> pl.Expr:
    regex = parse_pattern(context, pattern, checked_flags(context, flags))
    if is_native(regex):
        numbers = range(1, regex.groups + 1) if regex.groups else range(1)
        parts = pl.concat_list(value.str.extract(rust(regex), number) for number in numbers)
        return pl.when(value.str.contains(rust(regex))).then(parts)

    def build(compiled: Matcher, text: str) -> object:
        match = compiled.search(text)
        return None if match is None else _groups(match)

    return _over_matches(context, value, pattern, checked_flags(context, flags), build)


@define(
    "regexp_split_to_array(text, text!) -> text[]",
    "Parts between the matches.",
    family=_FAMILY,
    result=lambda types: array_of(TEXT),
)
def regexp_split_to_array(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    def build(compiled: Matcher, text: str) -> object:
        parts, position = [], 0
        for match in compiled.finditer(text):
            empty = match.end() == match.start()
            if empty and (match.start() <= position or match.start() == len(text)):
                continue
            parts.append(text[position : match.start()])
            position = match.end()
        return [*parts, text[position:]]

    return _over_matches(context, value, pattern, "", build)


@define(
    "regexp_matches(text, text!) -> text[][]",
    "Groups of the first match, as a row.",
    family=_FAMILY,
    result=lambda types: array_of(array_of(TEXT)),
)
def regexp_matches(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    return regexp_matches_flags(context, value, pattern, "")


@define(
    "regexp_matches(text, text!, text!) -> text[][]",
    "Groups of the first match, with flag g of all, as rows.",
    family=_FAMILY,
    result=lambda types: array_of(array_of(TEXT)),
)
def regexp_matches_flags(context: CallContext, value: pl.Expr, pattern: object, flags: object) -> pl.Expr:
    text_flags = str(flags)

    def build(compiled: Matcher, text: str) -> object:
        matches = [_groups(match) for match in compiled.finditer(text)]
        return matches if "g" in text_flags else matches[:1]

    return _over_matches(context, value, pattern, checked_flags(context, flags, allow_global=True), build)


argument_names("regexp_match, regexp_matches, regexp_like, regexp_split_to_array", "string, pattern, flags")
argument_names(
    "regexp_replace",
    "string, pattern, replacement, start, N, flags",
    short="string, pattern, replacement, flags",
)
