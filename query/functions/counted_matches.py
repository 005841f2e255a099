"""Regular expression functions that count their matches: from a place on, the n-th, the n-th group of it.

Places count from 1. Source: PostgreSQL documentation, "POSIX Regular Expressions".
"""

from collections.abc import Callable
from itertools import islice

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.functions.regexps import (
    Match,
    Matcher,
    checked_flags,
    is_native,
    matcher,
    matches_nothing,
    parse_pattern,
    replaced,
    replacement_of,
)
from query.functions.registry import argument_names, define
from query.pg.patterns.render import rust

_FAMILY = "Patterns"


def _compile(context: CallContext, pattern: object, flags: object) -> Matcher:
    return matcher(context, parse_pattern(context, pattern, checked_flags(context, flags)))


def _least(context: CallContext, name: str, value: object, least: int) -> int:
    """A numeric argument. Raises 22023 below the least value that it may have."""
    if not isinstance(value, int) or value < least:
        message = f'invalid value for parameter "{name}": {value}'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)
    return value


@define("regexp_count(text, text!) -> int4", "Number of matches.", family=_FAMILY)
def regexp_count(context: CallContext, value: pl.Expr, pattern: object) -> pl.Expr:
    return regexp_count_from(context, value, pattern, 1, "")


@define(
    "regexp_count(text, text!, int4!) -> int4; regexp_count(text, text!, int4!, text!) -> int4",
    "Number of matches from a place on, with flags.",
    family=_FAMILY,
)
def regexp_count_from(
    context: CallContext, value: pl.Expr, pattern: object, start: object, flags: object = ""
) -> pl.Expr:
    first = _least(context, "start", start, 1) - 1
    regex = parse_pattern(context, pattern, checked_flags(context, flags))
    if is_native(regex) and first == 0 and not matches_nothing(context, regex):
        return value.str.count_matches(rust(regex)).cast(pl.Int32)
    compiled = matcher(context, regex)
    return context.rowwise(lambda text: sum(1 for _ in _from(compiled, text, first)), value)


def _from(compiled: Matcher, text: str, first: int) -> "list[Match]":
    return list(compiled.finditer(text, first)) if first <= len(text) else []


def _nth(
    context: CallContext, value: pl.Expr, pattern: object, flags: object, counts: tuple[object, object], group: object,
    build: Callable[[Match | None, int], object],
) -> pl.Expr:  # fmt: skip
    """Pass the n-th match and the group's number to `build`, and give its result."""
    first, number = (_least(context, name, count, 1) for name, count in zip(("start", "n"), counts, strict=True))
    group_number = _least(context, "subexpr", group, 0)
    compiled = _compile(context, pattern, flags)
    if compiled.groups == 0 and group_number == 1:
        group_number = 0  # A pattern without groups is its own first one.

    def found(text: str) -> object:
        matches = compiled.finditer(text, first - 1) if first - 1 <= len(text) else iter(())
        match = next(islice(matches, number - 1, None), None)
        return build(match if group_number <= compiled.groups else None, group_number)

    return context.rowwise(found, value)


@define(
    "regexp_substr(text, text!) -> text; regexp_substr(text, text!, int4!) -> text; "
    "regexp_substr(text, text!, int4!, int4!) -> text; regexp_substr(text, text!, int4!, int4!, text!) -> text; "
    "regexp_substr(text, text!, int4!, int4!, text!, int4!) -> text",
    "The n-th match from a place on, or one of its groups.",
    family=_FAMILY,
)
def regexp_substr(
    context: CallContext, value: pl.Expr, pattern: object, start: object = 1, number: object = 1, flags: object = "",
    group: object = 0,
) -> pl.Expr:  # fmt: skip
    def build(match: Match | None, group_number: int) -> object:
        return None if match is None else match[group_number]

    return _nth(context, value, pattern, flags, (start, number), group, build)


@define(
    "regexp_instr(text, text!) -> int4; regexp_instr(text, text!, int4!) -> int4; "
    "regexp_instr(text, text!, int4!, int4!) -> int4; regexp_instr(text, text!, int4!, int4!, int4!) -> int4; "
    "regexp_instr(text, text!, int4!, int4!, int4!, text!) -> int4; "
    "regexp_instr(text, text!, int4!, int4!, int4!, text!, int4!) -> int4",
    "Place of the n-th match from a place on, with 1 as fifth argument of what follows it; 0 without one.",
    family=_FAMILY,
)
def regexp_instr(
    context: CallContext, value: pl.Expr, pattern: object, start: object = 1, number: object = 1, after: object = 0,
    flags: object = "", group: object = 0,
) -> pl.Expr:  # fmt: skip
    if after not in (0, 1):
        message = f'invalid value for parameter "endoption": {after}'
        raise fault.invalid(fault.INVALID_PARAMETER, message, context.position)

    def build(match: Match | None, wanted: int) -> object:
        if match is None or match.start(wanted) < 0:
            return 0
        return (match.end(wanted) if after else match.start(wanted)) + 1

    return _nth(context, value, pattern, flags, (start, number), group, build)


@define(
    "regexp_replace(text, text!, text!, int4!) -> text; regexp_replace(text, text!, text!, int4!, int4!) -> text; "
    "regexp_replace(text, text!, text!, int4!, int4!, text!) -> text",
    "The n-th match from a place on replaced; 0 for all.",
    family=_FAMILY,
)
def regexp_replace_nth(
    context: CallContext,
    value: pl.Expr,
    pattern: object,
    new: object,
    start: object,
    number: object = 1,
    flags: object = "",
) -> pl.Expr:
    first, match_number = _least(context, "start", start, 1) - 1, _least(context, "n", number, 0)
    regex = parse_pattern(context, pattern, checked_flags(context, flags, allow_global=True))
    compiled, replacement = matcher(context, regex), replacement_of(str(new), regex.groups)

    def with_chosen_replaced(text: str) -> str:
        matches = _from(compiled, text, first)
        chosen = matches if match_number == 0 else matches[match_number - 1 : match_number]
        return replaced(text, chosen, replacement)

    return context.rowwise(with_chosen_replaced, value)


argument_names("regexp_count", "string, pattern, start, flags")
argument_names("regexp_substr", "string, pattern, start, N, flags, subexpr")
argument_names("regexp_instr", "string, pattern, start, N, endoption, flags, subexpr")
