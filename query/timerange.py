"""The time range of a query: every way of writing it that clients use, to exact half-open bounds.

Pure: the clock is an argument. Knows nothing of datasets or of SQL.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from errors import InvalidTimeRange
from storage.times import unix_ns

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_SECOND: Final = 1_000_000_000
# Years 1 to 9999: what RFC 3339 can write, and what a microsecond timestamp holds on every side.
FIRST_NS: Final = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * NS_PER_SECOND
LAST_NS: Final = (int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) + 1) * NS_PER_SECOND

UNITS: Final = {
    name: factor
    for names, factor in (
        ("ns nsec", 1),
        ("us usec", NS_PER_US),
        ("ms msec millis", NS_PER_MS),
        ("s sec secs second seconds", NS_PER_SECOND),
        ("m min mins minute minutes", 60 * NS_PER_SECOND),
        ("h hr hrs hour hours", 3_600 * NS_PER_SECOND),
        ("d day days", 86_400 * NS_PER_SECOND),
        ("w week weeks", 7 * 86_400 * NS_PER_SECOND),
    )
    for name in names.split()
}
# Digits are bounded so that hostile text cannot buy itself big-integer arithmetic.
PART: Final = re.compile(r"([0-9]{1,15}) ?([a-zA-Z]+) *")
RELATIVE: Final = re.compile(r"now(?: *([+-]) *(.+))?", re.IGNORECASE)
UNIX: Final = re.compile(r"-?[0-9]{1,19}(?:\.[0-9]{1,9})?")
TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r" ?(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?)?"
)
LONGEST_TEXT: Final = 100
FORMS: Final = (
    "use RFC 3339 (2026-01-31T10:00:00.5Z), Unix time in s, ms, us or ns, a duration (1h 30m), `now`, or `now-1h`"
)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """`[start_ns, end_ns)` in nanoseconds since the epoch, UTC; None leaves a side open."""

    start_ns: int | None = None
    end_ns: int | None = None

    @property
    def start_us(self) -> int | None:
        """The least whole microsecond inside: `t >= start_ns` and `t >= start_us` select the same microseconds."""
        return None if self.start_ns is None else -(-self.start_ns // NS_PER_US)

    @property
    def end_us(self) -> int | None:
        """The least whole microsecond at or after the end: `t < end_ns` and `t < end_us` select the same ones."""
        return None if self.end_ns is None else -(-self.end_ns // NS_PER_US)


def parse(start: str | int | float | None, end: str | int | float | None, *, now_ns: int) -> TimeRange:
    """The range that a request's `startTime` and `endTime` mean (Spec 4.3; api.md section 5).

    A duration as start counts back from the end, or from now when there is none; as end, from now. Nothing is
    rounded. Raises InvalidTimeRange, naming the field, for a form we do not know and for a start after the end.

    >>> parse("1h", "2026-01-31T10:00:00Z", now_ns=0).start_ns == 1_769_850_000 * NS_PER_SECOND
    True
    """
    end_ns = _instant("endTime", end, now_ns=now_ns, base_ns=now_ns)
    start_ns = _instant("startTime", start, now_ns=now_ns, base_ns=now_ns if end_ns is None else end_ns)
    if start_ns is not None and end_ns is not None and start_ns > end_ns:
        raise InvalidTimeRange(f"startTime {start} is after endTime {end}", field="startTime")
    return TimeRange(start_ns, end_ns)


def require_both(start: str | int | float | None, end: str | int | float | None) -> None:
    """The stricter variant of Spec 4.3, for requests without `streamName`. Raises InvalidTimeRange."""
    for field, value in (("startTime", start), ("endTime", end)):
        if value is None:
            raise InvalidTimeRange(f"{field} is required: {FORMS}", field=field)


def age_seconds(field: str, text: str | None, *, now_ns: int) -> float:
    """How long ago `now` or a duration means: seconds, 0 for none. Raises InvalidTimeRange, naming the field.

    >>> age_seconds("from", "1m 30s", now_ns=10**18), age_seconds("from", "now", now_ns=0)
    (90.0, 0.0)
    """
    if text is None or text.strip().lower() == "now":
        return 0.0
    length_ns = _duration(text.strip()) if len(text) <= LONGEST_TEXT else None
    if length_ns is None or not 0 <= length_ns <= now_ns:
        raise InvalidTimeRange(f"{field}: cannot read {_quote(text)}; use `now` or a duration, as 5m", field=field)
    return length_ns / NS_PER_SECOND


def _instant(field: str, value: str | int | float | None, *, now_ns: int, base_ns: int) -> int | None:
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else repr(value)
    instant = _read(text, now_ns=now_ns, base_ns=base_ns)
    if instant is None:
        raise InvalidTimeRange(f"{field}: cannot read {_quote(value)}; {FORMS}", field=field)
    if not FIRST_NS <= instant <= LAST_NS:
        raise InvalidTimeRange(f"{field}: {_quote(value)} is outside the years 1 to 9999", field=field)
    return instant


def _read(text: str, *, now_ns: int, base_ns: int) -> int | None:
    if len(text) > LONGEST_TEXT:
        return None
    if match := RELATIVE.fullmatch(text):
        return _relative(match, now_ns)
    if match := TIMESTAMP.fullmatch(text):
        return _timestamp(match)
    if UNIX.fullmatch(text):
        return unix_ns(Decimal(text))
    length_ns = _duration(text)
    return None if length_ns is None else base_ns - length_ns


def _relative(match: re.Match[str], now_ns: int) -> int | None:
    sign, duration = match.groups()
    if sign is None:
        return now_ns
    length_ns = _duration(duration)
    if length_ns is None:
        return None
    return now_ns - length_ns if sign == "-" else now_ns + length_ns


def _duration(text: str) -> int | None:
    """Nanoseconds of `1h`, `1h 30m`, `2 days`; None if it is not a duration.

    Months and years are no durations: their lengths vary, and `M` would be a minute to some and a month to others.
    """
    total_ns, position = 0, 0
    while position < len(text):
        match = PART.match(text, position)
        factor = match and UNITS.get(match[2] if match[2] == "M" else match[2].lower())
        if not match or not factor:
            return None
        total_ns += int(match[1]) * factor
        position = match.end()
    return total_ns if text else None


def _timestamp(match: re.Match[str]) -> int | None:
    """RFC 3339 section 5.6; a missing zone is UTC, a missing time midnight. Second 60 is the next minute's first."""
    date, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups(default="")
    try:
        day = datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    time_of_day = (int(hour or 0), int(minute or 0), int(second or 0))
    offset = (int(offset_hour or 0), int(offset_minute or 0))
    if time_of_day > (23, 59, 60) or time_of_day[1] > 59 or time_of_day[2] > 60 or offset[0] > 23 or offset[1] > 59:
        return None
    seconds = int(day.timestamp()) + time_of_day[0] * 3_600 + time_of_day[1] * 60 + time_of_day[2]
    shift = (offset[0] * 60 + offset[1]) * (-60 if sign == "-" else 60)
    return (seconds - shift) * NS_PER_SECOND + int(fraction.ljust(9, "0"))


def _quote(value: str | int | float) -> str:
    text = str(value)
    return repr(text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "...")
