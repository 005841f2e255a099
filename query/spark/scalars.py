"""Bound scalars as Spark's expressions: only those that give what PostgreSQL gives for every value.

Spark may compute an operand whether its result is needed or not. So what can fail is refused where PostgreSQL would
not always compute it: in conditions, in branches, after a deciding operand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from query.pg.types import INTEGERS, PgType
from query.plan.tree import Call, Case, Cast, Coalesce, Column, Constant, InList, IsNull, Logic, Not, Scalar
from query.spark import messages, patterns, types
from query.spark.refusal import NotOnCluster

_COMPARISONS: Final = {
    "=(any, any)": "==",
    "<(any, any)": "<",
    "<=(any, any)": "<=",
    ">(any, any)": ">",
    ">=(any, any)": ">=",
    "is not distinct from(any, any)": "<=>",
}
_ESCAPE: Final = "\\"
_WIDER: Final = {
    "int2": ("int4", "int8", "float8"),
    "int4": ("int8", "float8"),
    "int8": ("float8",),
}
_UNITS_US: Final = {
    "microseconds": 1,
    "milliseconds": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
# Of an interval that two of it are far from an overflow: a thousand years.
_WIDEST: Final = 31_557_600_000_000_000
# 1970-01-01 was a Thursday; weeks begin on Monday.
_WEEK_SHIFT_US: Final = 3 * 86_400_000_000


@dataclass(frozen=True, slots=True)
class Scalars:
    """`may_fail`: every row needs the value, so an error of it is the statement's."""

    may_fail: bool = False

    def lower(self, scalar: Scalar) -> Any:
        """Raises NotOnCluster."""
        match scalar:
            case Column():
                types.require_held(scalar.type)
                return messages.attribute(scalar.id)
            case Constant():
                return types.constant(scalar)
            case Cast():
                return self._cast(scalar)
            case Call():
                return self._call(scalar)
            case IsNull():
                return messages.call("isnull", self.lower(scalar.value))
            case Not() | Logic() | Case() | Coalesce() | InList():
                return _SURE._composed(scalar)
            case _:
                raise NotOnCluster(type(scalar).__name__)

    def plain(self, scalar: Scalar) -> Any:
        """A value that is compared. Raises NotOnCluster."""
        types.require_plain(scalar.type)
        return self.lower(scalar)

    def _composed(self, scalar: Scalar) -> Any:
        match scalar:
            case Not():
                return messages.call("not", self.lower(scalar.value))
            case Logic():
                first, *others = map(self.lower, scalar.operands)
                for each in others:
                    first = messages.call(scalar.operator, first, each)
                return first
            case Case():
                parts = [part for branch in scalar.branches for part in map(self.lower, branch)]
                return messages.call("when", *parts, self.lower(scalar.default))
            case Coalesce():
                return messages.call("coalesce", *map(self.lower, scalar.args))
            case InList():
                return self._in_list(scalar)
        raise NotOnCluster(type(scalar).__name__)

    def _in_list(self, scalar: InList) -> Any:
        items = [types.constant(Constant(scalar.value.type, each)) for each in scalar.items]
        items += [types.constant(Constant(scalar.value.type, None))] if scalar.has_null else []
        return messages.call("in", self.plain(scalar.value), *items)

    def _cast(self, scalar: Cast) -> Any:
        source, target = scalar.value.type, scalar.type
        if (source.name, target.name) in _CASTS and source.unit == target.unit and not scalar.modifiers:
            return _CASTS[source.name, target.name](self, scalar.value)
        is_wider = target.name in _WIDER.get(source.name, ()) and target.element is None
        if source != target and not is_wider:
            raise NotOnCluster(f"a cast from {source.sql_name} to {target.sql_name}", scalar.position)
        if scalar.modifiers:
            raise NotOnCluster("a cast with a length or precision", scalar.position)
        return messages.cast(self.lower(scalar.value), types.require_plain(target))

    def _call(self, scalar: Call) -> Any:
        name = scalar.function.partition("(")[0]
        if scalar.function == "<>(any, any)":
            return messages.call("not", self._compared("=(any, any)", scalar))
        if scalar.function in _COMPARISONS:
            return self._compared(scalar.function, scalar)
        if scalar.function in _FUNCTIONS:
            return _FUNCTIONS[scalar.function](self, scalar)
        if name in _ARITHMETIC and all(each.type.name in INTEGERS for each in scalar.args):
            return self._arithmetic(name, scalar)
        raise NotOnCluster(f"the function or operator {name}", scalar.position)

    def _compared(self, function: str, scalar: Call) -> Any:
        left, right = scalar.args
        if left.type != right.type:
            raise NotOnCluster(f"comparing {left.type.sql_name} with {right.type.sql_name}", scalar.position)
        return messages.call(_COMPARISONS[function], self.plain(left), self.plain(right))

    def _arithmetic(self, name: str, scalar: Call) -> Any:
        divisor = scalar.args[-1]
        is_sure = name in ("%", "mod") and isinstance(divisor, Constant) and divisor.value not in (None, 0)
        if not self.may_fail and not is_sure:
            raise NotOnCluster(f"the operator {name} where it need not be computed for every row", scalar.position)
        values = map(self.lower, scalar.args)
        if name == "-" and len(scalar.args) == 1:
            return messages.call("negative", *values)
        return messages.cast(messages.call(_ARITHMETIC[name], *values), types.require_plain(scalar.type))


def _same(scalars: Scalars, value: Scalar) -> Any:
    """A session's zone is UTC, so both kinds of times are the same number."""
    return scalars.lower(value)


def _day(scalars: Scalars, value: Scalar) -> Any:
    length = messages.literal(long=_UNITS_US["day"] * (1_000 if value.type.unit == "ns" else 1))
    number = scalars.lower(value)
    begin = messages.call("-", number, messages.call("pmod", number, length))
    return messages.call("date_from_unix_date", messages.cast(messages.call("div", begin, length), "INT"))


def _midnight(scalars: Scalars, value: Scalar) -> Any:
    if not isinstance(value, Constant) or not isinstance(value.value, int) or abs(value.value) > _LAST_DAY:
        raise NotOnCluster("a cast from date to a time")
    return messages.literal(long=value.value * _UNITS_US["day"])


def _bit(scalars: Scalars, value: Scalar) -> Any:
    return messages.cast(scalars.lower(value), "INT")


_SURE: Final = Scalars()
# Of both directions, what a time in microseconds can be.
_LAST_DAY: Final = 100_000_000
_CASTS: Final[dict[tuple[str, str], Callable[[Scalars, Scalar], Any]]] = {
    ("timestamp", "timestamptz"): _same,
    ("timestamptz", "timestamp"): _same,
    ("timestamp", "date"): _day,
    ("timestamptz", "date"): _day,
    ("date", "timestamp"): _midnight,
    ("date", "timestamptz"): _midnight,
    ("bool", "int4"): _bit,
}
_ARITHMETIC: Final = {"+": "+", "-": "-", "*": "*", "/": "div", "%": "%", "mod": "%"}


def _found(pattern: Callable[..., str], by: str = "rlike", **options: object) -> Callable[["Scalars", Call], Any]:
    """Whether a text matches a constant pattern, which `pattern` makes one of that Spark's function `by` takes."""

    def build(scalars: Scalars, scalar: Call) -> Any:
        value, *given = scalar.args
        if not all(isinstance(each, Constant) for each in given):
            raise NotOnCluster("a pattern that is no constant", scalar.position)
        texts = [each.value for each in given if isinstance(each, Constant)]
        if None in texts:
            return messages.null("BOOLEAN")
        return messages.call(by, scalars.lower(value), messages.literal(string=pattern(*map(str, texts), **options)))

    return build


def _truncate(scalars: Scalars, scalar: Call) -> Any:
    unit, value = scalar.args
    name = str(unit.value).lower() if isinstance(unit, Constant) else ""
    if name not in _UNITS_US:
        raise NotOnCluster(f"date_trunc to {name or 'a unit that is no constant'}", scalar.position)
    factor = 1_000 if value.type.unit == "ns" else 1
    number = scalars.lower(value)
    shifted = number
    if name == "week":
        shifted = messages.call("+", number, messages.literal(long=_WEEK_SHIFT_US * factor))
    beyond = messages.call("pmod", shifted, messages.literal(long=_UNITS_US[name] * factor))
    return messages.call("-", number, beyond)


def _bin(scalars: Scalars, scalar: Call) -> Any:
    """Whole numbers: `a - (a - origin) mod stride`, the mod taken of each so that no difference overflows."""
    stride, value, origin = scalar.args
    if not isinstance(stride, Constant) or not isinstance(origin, Constant) or value.type != origin.type:
        raise NotOnCluster("date_bin by what is no constant", scalar.position)
    months, days, us = stride.value if isinstance(stride.value, tuple) else (1, 0, 0)
    width = (days * _UNITS_US["day"] + us) * (1_000 if value.type.unit == "ns" else 1)
    if months or not 0 < width <= _WIDEST or not isinstance(origin.value, int):
        raise NotOnCluster("date_bin by this interval", scalar.position)
    number, long = scalars.lower(value), messages.literal(long=width)
    ahead = messages.call("-", messages.call("pmod", number, long), messages.literal(long=origin.value % width))
    return messages.call("-", number, messages.call("pmod", ahead, long))


def _length(scalars: Scalars, scalar: Call) -> Any:
    return messages.call("char_length", *map(scalars.lower, scalar.args))


def _joined(scalars: Scalars, scalar: Call) -> Any:
    return messages.call("concat", *map(scalars.lower, scalar.args))


def _begins(scalars: Scalars, scalar: Call) -> Any:
    return messages.call("startswith", *map(scalars.lower, scalar.args))


_FUNCTIONS: Final[dict[str, Callable[[Scalars, Call], Any]]] = {
    # Spark looks for the beginning, the end or a part instead, where the pattern is no more than that.
    "~~(text, text!, text!)": _found(patterns.like, by="like"),
    "~~*(text, text!, text!)": _found(patterns.like_in_any_case),
    "similar to(text, text!, text!)": _found(patterns.similar_to),
    "~(text, text!)": _found(patterns.regex),
    "regexp_like(text, text!)": _found(patterns.regex),
    "~*(text, text!)": _found(patterns.regex, flags="i"),
    "date_bin(interval!, timestamp, timestamp)": _bin,
    "date_bin(interval!, timestamptz, timestamptz)": _bin,
    "date_trunc(text!, timestamp)": _truncate,
    "date_trunc(text!, timestamptz)": _truncate,
    "length(text)": _length,
    "char_length(text)": _length,
    "||(text, text)": _joined,
    "starts_with(text, text)": _begins,
}


def is_plain(pg_type: PgType) -> bool:
    """Whether Spark compares and groups such values as PostgreSQL does."""
    try:
        types.require_plain(pg_type)
    except NotOnCluster:
        return False
    return True
