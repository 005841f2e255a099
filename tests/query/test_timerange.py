"""The forms of a time range: api.md section 5, Spec 4.3."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import InvalidTimeRange
from query import timerange
from query.timerange import TimeRange

NOW = 1_700_000_000_123_456_789
SECOND = 1_000_000_000
NOON = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()) * SECOND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-01-31T12:00:00Z", NOON, id="utc"),
        pytest.param("2026-01-31t12:00:00z", NOON, id="lower-case"),
        pytest.param("2026-01-31T12:00:00.000Z", NOON, id="javascript"),
        pytest.param("2026-01-31T12:00:00+00:00", NOON, id="sqlalchemy"),
        pytest.param("2026-01-31T13:30:00+01:30", NOON, id="east"),
        pytest.param("2026-01-31T00:00:00-12:00", NOON, id="west"),
        pytest.param("2026-01-31T12:00:00-00:00", NOON, id="unknown-local-offset"),
        pytest.param("2026-01-31T13:00:00+0100", NOON, id="offset-without-colon"),
        pytest.param("2026-01-31T12:00:00", NOON, id="no-zone-is-utc"),
        pytest.param("2026-01-31 12:00:00", NOON, id="space"),
        pytest.param("2026-01-31 12:00:00 +00:00", NOON, id="space-before-offset"),
        pytest.param("2026-01-31T12:00", NOON, id="no-seconds"),
        pytest.param("2026-01-31", NOON - 12 * 3600 * SECOND, id="date"),
        pytest.param("  2026-01-31T12:00:00Z ", NOON, id="surrounding-blanks"),
        pytest.param("2026-01-31T12:00:00.1Z", NOON + 100_000_000, id="one-digit"),
        pytest.param("2026-01-31T12:00:00.000001Z", NOON + 1_000, id="microsecond"),
        pytest.param("2026-01-31T12:00:00.123456789Z", NOON + 123_456_789, id="go-nanoseconds"),
        pytest.param("2026-01-31T11:59:60Z", NOON, id="leap-second"),
        pytest.param("1969-12-31T23:59:59.999999999Z", -1, id="before-the-epoch"),
        pytest.param("0001-01-01T00:00:00Z", timerange.FIRST_NS, id="first"),
        pytest.param("1769860800123", NOON + 123_000_000, id="epoch-ms-text"),
        pytest.param(1769860800123, NOON + 123_000_000, id="epoch-ms"),
        pytest.param(1769860800, NOON, id="unix-seconds"),
        pytest.param("1769860800.5", NOON + SECOND // 2, id="unix-seconds-with-a-fraction"),
        pytest.param(1769860800.25, NOON + SECOND // 4, id="unix-seconds-as-a-float"),
        pytest.param(1769860800123456, NOON + 123_456_000, id="unix-microseconds"),
        pytest.param("1769860800123456789", NOON + 123_456_789, id="unix-nanoseconds"),
        pytest.param(-1, -SECOND, id="before-1970"),
        pytest.param("now", NOW, id="now"),
        pytest.param("NOW", NOW, id="now-capitals"),
        pytest.param("now-1h", NOW - 3_600 * SECOND, id="now-minus"),
        pytest.param("now - 1h 30m", NOW - 5_400 * SECOND, id="now-minus-spaced"),
        pytest.param("now+1s", NOW + SECOND, id="now-plus"),
        pytest.param("10m", NOW - 600 * SECOND, id="duration-as-end-counts-from-now"),
    ],
)
def test_every_form_of_an_instant_is_read_exactly(text: str | int, expected: int) -> None:
    """api.md section 5: RFC 3339, without zone, with a space, Unix time by magnitude, durations, now."""
    assert timerange.parse(None, text, now_ns=NOW) == TimeRange(None, expected)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h", 3_600),
        ("30m", 1_800),
        ("1h 30m", 5_400),
        ("1h30m", 5_400),
        ("7d", 604_800),
        ("2 days", 172_800),
        ("1 week", 604_800),
        ("90 seconds", 90),
        ("1H", 3_600),
        ("0s", 0),
        ("1 hour 2 minutes 3 seconds", 3_723),
    ],
)
def test_a_duration_start_counts_back_from_the_end(text: str, seconds: int) -> None:
    found = timerange.parse(text, "2026-01-31T12:00:00Z", now_ns=NOW)

    assert found == TimeRange(NOON - seconds * SECOND, NOON)


def test_a_duration_start_without_an_end_counts_back_from_now() -> None:
    assert timerange.parse("1h", None, now_ns=NOW) == TimeRange(NOW - 3_600 * SECOND, None)


def test_both_sides_are_optional() -> None:
    assert timerange.parse(None, None, now_ns=NOW) == TimeRange(None, None)


def test_equal_bounds_are_an_empty_range() -> None:
    assert timerange.parse("now", "now", now_ns=NOW) == TimeRange(NOW, NOW)


@pytest.mark.parametrize("field", ["startTime", "endTime"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "yesterday",
        "1x",
        "1 fortnight",
        "1M",
        "1 month",
        "1 year",
        "-1h",
        "1h-",
        "h",
        "1.5h",
        "now-",
        "now-1",
        "nowish",
        "now-1M",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:61Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00.1234567890Z",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+00:60",
        "2026-01-31T12:00:00 Europe/Berlin",
        "2026-01-31T12:00:00Z; DROP TABLE app",
        "0000-01-01T00:00:00Z",
        "２０２６-01-31T12:00:00Z",
        "1769860800.5.5",
        "1e400",
        "9" * 10_000,
        "1h " * 5_000,
        "$__timeFrom()",
    ],
)
def test_what_is_no_instant_is_refused_with_the_field_named(field: str, text: str) -> None:
    sides = {"startTime": (text, None), "endTime": (None, text)}[field]

    with pytest.raises(InvalidTimeRange) as refusal:
        timerange.parse(*sides, now_ns=NOW)

    assert field in refusal.value.message
    assert refusal.value.details["field"] == field
    assert len(refusal.value.message) < 400


def test_a_start_after_the_end_is_refused() -> None:
    with pytest.raises(InvalidTimeRange, match="after endTime"):
        timerange.parse("2026-01-31T12:00:00.000000001Z", "2026-01-31T12:00:00Z", now_ns=NOW)


@pytest.mark.parametrize(("start", "end", "missing"), [(None, "now", "startTime"), ("1h", None, "endTime")])
def test_the_strict_mode_wants_both(start: str | None, end: str | None, missing: str) -> None:
    """Spec 4.3: required in the variant that omits streamName."""
    with pytest.raises(InvalidTimeRange, match=missing):
        timerange.require_both(start, end)


@given(st.integers(-(10**18), 10**18), st.integers(-(10**18), 10**18))
def test_microsecond_bounds_select_the_same_microseconds(bound_ns: int, instant_us: int) -> None:
    found = TimeRange(bound_ns, bound_ns)

    assert (instant_us * 1_000 >= bound_ns) == (instant_us >= (found.start_us or 0))
    assert (instant_us * 1_000 < bound_ns) == (instant_us < (found.end_us or 0))


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_python_writes_is_read_back(moment: datetime) -> None:
    found = timerange.parse(moment.isoformat(), None, now_ns=NOW)

    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert found.start_ns == ((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds) * 1_000


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidTimeRange):
        timerange.parse(text, "now", now_ns=NOW)
