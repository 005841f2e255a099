"""LIKE, SIMILAR TO and regular expressions, with PostgreSQL's meaning or a refusal."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import row_fault
from query.functions.registry import argument_names, define
from query.pg.patterns.backtracking import explodes
from query.pg.patterns.like import NOTHING, BadPattern, Like, like, similar
from query.pg.patterns.longest_match import same_match
from query.pg.patterns.render import needs_python, nests_repeats, python, rust
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


def _backtracking(context: CallContext, regex: Regex) -> "re.Pattern[str]":
    """An expression that has to be matched by trying: repetitions inside repetitions could take for ever."""
    if nests_repeats(regex.root):
        raise fault.unsupported("a back-reference or look-around beside nested repetitions", context.position)
    return _python(context, regex)


def _find(context: CallContext, value: pl.Expr, regex: Regex) -> pl.Expr:
    """True where the expression matches anywhere."""
    if needs_python(regex.root):
        compiled = _backtracking(context, regex)
        return context.rowwise(lambda text: compiled.search(text) is not None, value)
    try:
        return value.str.contains(rust(regex))
    except UnsupportedRegex as error:
        raise fault.unsupported(str(error), context.position) from error


def searchable(context: CallContext, regex: Regex) -> "re.Pattern[str]":
    """The expression for finding what matches, if first and longest match agree."""
    if not same_match(regex):
        raise fault.unsupported(
            "cutting out a match that depends on which alternative is tried first",
            context.position,
            "PostgreSQL takes the longest; write the alternatives so that none begins another",
        )
    return _backtracking(context, regex) if needs_python(regex.root) else _python(context, regex)


def compile_rowwise(context: CallContext, regex: Regex) -> "re.Pattern[str]":
    """The same for finding by Python's matcher, row by row, which must not try for ever."""
    compiled = searchable(context, regex)
    if explodes(regex):
        raise fault.unsupported(
            "a repetition of repetitions in a function that cuts out matches",
            context.position,
            "let each round end with a character that is not repeated in it, as in ([a-z]+,)+",
        )
    return compiled


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
    compiled = searchable(context, regex)
    if not needs_python(regex.root):
        return value.str.extract(rust(regex), 1 if regex.groups else 0)

    def part(text: str) -> str | None:
        match = compiled.search(text)
        return None if match is None else match[1 if regex.groups else 0]

    return context.rowwise(part, value)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A replacement text: literal parts and group numbers; group 0 is the whole match."""

    parts: tuple[str | int, ...]

    def render(self, match: "re.Match[str]") -> str:
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
    compiled = searchable(context, regex)
    replacement = replacement_of(str(new), regex.groups)
    count = 0 if "g" in flags else 1
    if not needs_python(regex.root) and (count or not compiled.fullmatch("")):
        return _replaced_natively(value, regex, replacement, everywhere=count == 0)
    compiled = compile_rowwise(context, regex)
    return context.rowwise(lambda text: compiled.sub(replacement.render, text, count=count), value)


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
    context: CallContext, value: pl.Expr, pattern: object, flags: str, build: Callable[["re.Pattern[str]", str], object]
) -> pl.Expr:
    compiled = compile_rowwise(context, parse_pattern(context, pattern, flags))
    return context.rowwise(lambda text: build(compiled, text), value)


def _groups(match: "re.Match[str]") -> list[str | None]:
    return list(match.groups()) if match.re.groups else [match[0]]


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
    def build(compiled: "re.Pattern[str]", text: str) -> object:
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
    def build(compiled: "re.Pattern[str]", text: str) -> object:
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

    def build(compiled: "re.Pattern[str]", text: str) -> object:
        matches = [_groups(match) for match in compiled.finditer(text)]
        return matches if "g" in text_flags else matches[:1]

    return _over_matches(context, value, pattern, checked_flags(context, flags, allow_global=True), build)


argument_names("regexp_match, regexp_matches, regexp_like, regexp_split_to_array", "string, pattern, flags")
argument_names(
    "regexp_replace",
    "string, pattern, replacement, start, N, flags",
    short="string, pattern, replacement, flags",
)
