"""The session's time zone: what depends on it is bound as what names the zone, so that nothing below has to know it.

Source: PostgreSQL documentation, "Time Zones": an instant is converted by the session's zone wherever it meets a wall
clock: in casts, fields, truncation, arithmetic with months and days, templates and texts.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from query import fault
from query.functions.registry import POLYMORPHIC, REGISTRY
from query.pg.patterns.templates import tokens
from query.pg.types import BOOL, INT8, INTERVAL_TYPE, TEXT, TIMESTAMP, TIMESTAMPTZ, PgType
from query.plan.traverse import children, rewrite
from query.plan.tree import AggregateCall, Call, Cast, Constant, Relation, Scalar, WindowCall

Fold = Callable[[Scalar], Scalar]

_ZONED: Final = "timestamptz"
_LOCAL: Final = "timezone(text!, timestamptz)"
_INSTANT: Final = "timezone(text!, timestamp)"
_WALL_CLOCKS: Final = ("timestamp", "date", "time")
_ZONE_FIELDS: Final = ("TZ", "TZH", "TZM", "OF")


def at_zone(zone: str, fold: Fold) -> Fold:
    """What computes constants and, of a session in `zone`, first says where the zone decides."""
    return Localising(zone, fold).localised if zone else fold


def require_localised(relation: Relation) -> None:
    """Refuses what would be computed in UTC, though the session has another zone. Raises UnsupportedSQL."""
    for field in relation.fields:
        if (field.type.element or field.type).name == "record" and _holds_zoned(field.type):
            raise fault.unsupported("the text of a row with an instant in a time zone other than UTC")
    for node in _nodes(relation, set()):
        if isinstance(node, Scalar) and _depends(node):
            raise fault.unsupported(f"{_name(node)} in a time zone other than UTC", None, "write AT TIME ZONE")


class Localising:
    """Makes scalars of a session in `zone` say so. What it has made once it leaves alone."""

    def __init__(self, zone: str, fold: Fold) -> None:
        self._text, self._zone, self._fold = zone, Constant(TEXT, zone), fold

    def localised(self, scalar: Scalar) -> Scalar:
        """The scalar with the zone named wherever it decides, computed if it is of constants."""
        if isinstance(scalar, Constant):
            is_untyped = scalar.type.name == "unknown" and not scalar.zone
            return replace(scalar, zone=self._text) if is_untyped else scalar
        return self._computed(rewrite(scalar, self._change))

    def _change(self, scalar: Scalar) -> Scalar | None:
        if not _depends(scalar):
            return None
        match scalar:
            case Cast():
                changed: Scalar = self._cast(replace(scalar, value=self.localised(scalar.value)))
            case Call():
                changed = self._call(replace(scalar, args=tuple(map(self.localised, scalar.args))))
            case AggregateCall() if scalar.function in _IN_JSON:
                changed = replace(scalar, args=tuple(map(self._in_json, scalar.args)))
            case _:
                return None
        return self._computed(changed)

    def _computed(self, scalar: Scalar) -> Scalar:
        """What still depends on the zone is not computed, so that it is seen and refused in the end."""
        return scalar if _depends(scalar) else self._fold(scalar)

    def _cast(self, cast: Cast) -> Scalar:
        source, target = cast.value.type, cast.type
        if source.name == _ZONED and target.name in _WALL_CLOCKS:
            return replace(cast, value=self._local(cast.value))
        if source.name == _ZONED and target.name in ("text", "bpchar"):
            return replace(cast, value=self._shown(cast.value, iso=False))
        if target.name == _ZONED and source.name in ("timestamp", "date"):
            clock = cast.value if source.name == "timestamp" else self._fold(Cast(TIMESTAMP, cast.value))
            instant_type = PgType(_ZONED, unit=clock.type.unit)
            return replace(cast, value=self._fold(Call(instant_type, _INSTANT, (self._zone, clock), cast.position)))
        if target.name == _ZONED and source.name in ("text", "bpchar"):
            text = cast.value if source.name == "text" else Cast(TEXT, cast.value)
            args = text, self._zone, Constant(BOOL, cast.lenient)
            return replace(cast, value=self._fold(Call(TIMESTAMPTZ, _READ, args, cast.position)), lenient=False)
        return cast

    def _call(self, call: Call) -> Scalar:
        key, args = call.function, call.args
        if key in _OF_FIELD:
            return self._field(call)
        if key in _SHIFTS and _is_constant_span(_ordered(key, args)[1]):
            return self._shifted(call)
        if key in _WITH_ZONE:
            return replace(call, function=_WITH_ZONE[key], args=(*_ordered(key, args), self._zone))
        if key == "age(timestamptz, timestamptz)":
            return replace(call, function="age(timestamp, timestamp)", args=tuple(map(self._local, args)))
        if key == "to_char(timestamptz, text!)":
            if _has_zone(args[1]):
                return replace(call, function="to_char at zone(timestamptz, text!, text!)", args=(*args, self._zone))
            return replace(call, function="to_char(timestamp, text!)", args=(self._local(args[0]), args[1]))
        if REGISTRY.get(key).name in _IN_TEXT:
            return replace(call, args=tuple(self._plain(arg) for arg in args))
        if REGISTRY.get(key).name in _IN_JSON:
            keyed = REGISTRY.get(key).name in _KEYED
            return replace(
                call,
                args=tuple(arg if keyed and not index % 2 else self._in_json(arg) for index, arg in enumerate(args)),
            )
        return call

    def _shifted(self, call: Call) -> Scalar:
        """Months, then days, each on the wall clock, then the time (timestamptz_pl_interval_internal). What is not
        moved on the clock keeps its place in an hour that occurs twice."""
        value, span = _ordered(call.function, call.args)
        sign = -1 if call.function.startswith(("-", "date_subtract")) else 1
        months, days, us = (sign * part for part in span.value)  # type: ignore[attr-defined]
        for part in [(months, 0, 0)] * bool(months) + [(0, days, 0)] * bool(days):
            clock = self._local(value)
            moved = self._fold(Call(clock.type, "+(timestamp, interval)", (clock, _span(part)), call.position))
            value = self._fold(Call(call.type, _INSTANT, (self._zone, moved), call.position))
        rest = _span((0, 0, us))
        return Call(call.type, "+(timestamptz, interval)", (value, rest), call.position) if us else value

    def _field(self, call: Call) -> Scalar:
        """A field of the wall clock, or of its distance from UTC."""
        field, value = call.args
        part = _OF_OFFSET.get(_name_of_field(call))
        if part is not None and call.function in _READ_FIELDS:
            divisor, modulus = (Constant(INT8, each) for each in part)
            offset: Scalar = Call(INT8, "offset at zone(timestamptz, text!)", (value, self._zone), call.position)
            units = Call(INT8, "/(int8, int8)", (offset, divisor), call.position)
            return Cast(call.type, Call(INT8, "%(int8, int8)", (units, modulus), call.position))
        if call.function == "date_trunc(text!, timestamptz)":
            return replace(call, function="date_trunc(text!, timestamptz, text!)", args=(field, value, self._zone))
        return replace(call, function=_OF_FIELD[call.function], args=(field, self._local(value)))

    def _local(self, value: Scalar) -> Scalar:
        clock_type = PgType("timestamp", unit=value.type.unit)
        return self._fold(Call(clock_type, _LOCAL, (self._zone, value)))

    def _shown(self, value: Scalar, iso: bool) -> Scalar:
        return self._fold(Call(TEXT, _SHOW, (value, self._zone, Constant(BOOL, iso))))

    def _plain(self, value: Scalar) -> Scalar:
        return self._shown(value, iso=False) if value.type.name == _ZONED else value

    def _in_json(self, value: Scalar) -> Scalar:
        value = self.localised(value)
        return self._shown(value, iso=True) if value.type.name == _ZONED else value


_SHOW: Final = "text at zone(timestamptz, text!, bool!)"
_READ: Final = "instant at zone(text, text!, bool!)"
_OF_FIELD: Final = {
    "extract(text!, timestamptz)": "extract(text!, timestamp)",
    "date_part(text!, timestamptz)": "date_part(text!, timestamp)",
    "date_trunc(text!, timestamptz)": "",
}
_READ_FIELDS: Final = ("extract(text!, timestamptz)", "date_part(text!, timestamptz)")
_DAY_SECONDS: Final = 86_400
# What seconds east of UTC are divided by, and what is left of that: with their sign, as PostgreSQL's.
_OF_OFFSET: Final = {
    "timezone": (1, _DAY_SECONDS),
    **dict.fromkeys(("timezone_hour", "timezone_h"), (3_600, 24)),
    **dict.fromkeys(("timezone_minute", "timezone_m"), (60, 60)),
}
_WITH_ZONE: Final = {
    "+(timestamptz, interval)": "date_add(timestamptz, interval, text!)",
    "+(interval, timestamptz)": "date_add(timestamptz, interval, text!)",
    "-(timestamptz, interval)": "date_subtract(timestamptz, interval, text!)",
    "date_add(timestamptz, interval)": "date_add(timestamptz, interval, text!)",
    "date_subtract(timestamptz, interval)": "date_subtract(timestamptz, interval, text!)",
    "generate_series(timestamptz, timestamptz, interval!)": (
        "generate_series(timestamptz, timestamptz, interval!, text!)"
    ),
    "make_timestamptz(int4, int4, int4, int4, int4, float8)": (
        "make_timestamptz(int4, int4, int4, int4, int4, float8, text!)"
    ),
    "to_timestamp(text, text!)": "to_timestamp at zone(text, text!, text!)",
}
_SHIFTS: Final = tuple(name for name in _WITH_ZONE if "interval" in name and "!" not in name)
_IN_TEXT: Final = ("concat", "concat_ws", "format", "||", "quote_literal", "quote_nullable")
_IN_JSON: Final = (
    *("to_json", "to_jsonb", "json_build_array", "jsonb_build_array", "json_build_object", "jsonb_build_object"),
    *("json_agg", "jsonb_agg"),
)
_KEYED: Final = ("json_build_object", "jsonb_build_object")
_TEXTS: Final = ("text", "json", "jsonb")


def _depends(scalar: Scalar) -> bool:
    """Whether the session's zone decides what the scalar is."""
    match scalar:
        case Cast():
            return _cast_depends(scalar.value.type, scalar.type)
        case Call() if scalar.function in _OF_FIELD:
            return _name_of_field(scalar) != "epoch"
        case Call() if scalar.function in _WITH_ZONE:
            return _moves_the_calendar(scalar.args)
        case Call(function="age(timestamptz, timestamptz)" | "to_char(timestamptz, text!)"):
            return True
        case Call() if scalar.function != "grouping":
            return _shows(scalar.type, scalar.args) and _is_polymorphic(scalar.function)
        case AggregateCall() | WindowCall():
            return _shows(scalar.type, scalar.args)
        case _:
            return False


def _cast_depends(source: PgType, target: PgType) -> bool:
    if source.name == _ZONED:
        return target.name in (*_WALL_CLOCKS, "text", "bpchar", "json", "jsonb")
    if target.name == _ZONED:
        return True
    return _holds_zoned(source) != _holds_zoned(target)


def _name_of_field(call: Call) -> str:
    field = call.args[0]
    return str(field.value).lower() if isinstance(field, Constant) else ""


def _shows(result: PgType, args: tuple[Scalar, ...]) -> bool:
    """Whether a text or a document is made, perhaps of an instant."""
    shown = result.element or result
    return shown.name in _TEXTS and any(_holds_zoned(arg.type) for arg in args)


def _is_polymorphic(key: str) -> bool:
    function = REGISTRY.get(key)
    return any(parameter.type in (*POLYMORPHIC, "any") for parameter in function.parameters)


def _holds_zoned(pg_type: PgType) -> bool:
    if pg_type.element is not None:
        return _holds_zoned(pg_type.element)
    return pg_type.name == _ZONED or any(map(_holds_zoned, pg_type.fields))


def _moves_the_calendar(args: tuple[Scalar, ...]) -> bool:
    """False for an interval without months and days, which is as long in every zone."""
    spans = [arg for arg in args if arg.type.name == "interval"]
    return not spans or not all(map(_is_clock_time, spans))


def _is_clock_time(span: Scalar) -> bool:
    return isinstance(span, Constant) and isinstance(span.value, tuple) and span.value[:2] == (0, 0)


def _is_constant_span(span: Scalar) -> bool:
    return isinstance(span, Constant) and isinstance(span.value, tuple)


def _span(parts: tuple[int, int, int]) -> Constant:
    return Constant(INTERVAL_TYPE, parts)


def _ordered(key: str, args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return args[::-1] if key.startswith("+(interval") else args


def _has_zone(template: Scalar) -> bool:
    text = str(template.value) if isinstance(template, Constant) else ""
    return any(token.field.upper() in _ZONE_FIELDS for token in tokens(text))


def _nodes(node: object, visited: set[int]) -> Iterator[object]:
    """Every node below, each once."""
    if id(node) in visited:
        return
    visited.add(id(node))
    yield node
    for child in children(node):
        yield from _nodes(child, visited)


def _name(scalar: Scalar) -> str:
    match scalar:
        case Cast():
            return f"a cast from {scalar.value.type.sql_name} to {scalar.type.sql_name}"
        case WindowCall():
            return f"the window of {scalar.function}"
        case _:
            return f"the function or operator {str(getattr(scalar, 'function', '')).partition('(')[0]}"
