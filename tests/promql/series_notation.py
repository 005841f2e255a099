"""Series as promqltest writes them: `http_requests{job="api"} 0+10x5 _ stale {{schema:0 count:1}}x2`."""

import math
import re
from collections.abc import Iterator

from promql.histogram import CUSTOM, Hint, Histogram
from promql.labels import Labels, labels_of
from promql.parse import parse
from promql.tree import Selector
from tests.promql.memory_source import STALE, Value

_NUMBER = r"[-+]?(?:(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[iI]nf|[nN]a[nN])"
_RAMP = re.compile(rf"({_NUMBER})(?:([-+])({_NUMBER[5:]}))?(?:x(\d+))?")
_MEMBER = re.compile(r"([a-z_]+):(\[[^\]]*\]|[^\s\]]+)")
_NATIVE = re.compile(r"\{\{(.*?)\}\}(?:([-+])\{\{(.*?)\}\})?(?:x(\d+))?")
_HINTS = {"unknown": Hint.UNKNOWN, "reset": Hint.RESET, "not_reset": Hint.NOT_RESET, "gauge": Hint.GAUGE}


def parse_series(line: str) -> tuple[Labels, list[Value | None]]:
    """Labels and values; None where no sample is."""
    head, rest = _split(line)
    return parse_labels(head), list(_values(rest))


def _split(line: str) -> tuple[str, str]:
    """The metric, which ends with its braces or before the first space."""
    if "{" in line and not line.split("{", 1)[0].strip().count(" "):
        before, _, after = line.partition("{")
        if not after.startswith("{"):
            end = _closing(line, len(before))
            return line[: end + 1], line[end + 1 :]
    head, _, rest = line.partition(" ")
    return head, rest


def _closing(line: str, start: int) -> int:
    quote = ""
    for at in range(start, len(line)):
        each = line[at]
        if quote:
            quote = "" if each == quote and line[at - 1] != "\\" else quote
        elif each in "\"'`":
            quote = each
        elif each == "}":
            return at
    raise ValueError(line)


def parse_labels(text: str) -> Labels:
    if text.replace(" ", "") in ("{}", ""):
        return ()
    selector = parse(text)
    assert isinstance(selector, Selector)
    return labels_of({each.name: each.value for each in selector.matchers})


def _number(text: str) -> float:
    if "x" in text.lower() and "inf" not in text.lower():
        return float(int(text, 16))
    return float(text.replace("_", ""))


def _values(text: str) -> Iterator[Value | None]:
    at = 0
    while at < len(text):
        if text[at] in " \t":
            at += 1
        elif text.startswith("{{", at):
            found = _NATIVE.match(text, at)
            assert found, text
            yield from _natives(found)
            at = found.end()
        else:
            end = len(text) if " " not in text[at:] else text.index(" ", at)
            yield from _floats(text[at:end])
            at = end


def _floats(text: str) -> Iterator[Value | None]:
    blank = re.fullmatch(r"(_|stale)(?:x(\d+))?", text)
    if blank:
        value = None if blank[1] == "_" else STALE
        yield from [value] * (int(blank[2]) if value is None and blank[2] else int(blank[2] or 0) + 1)
        return
    found = _RAMP.fullmatch(text)
    if not found:
        raise ValueError(f"no value: {text!r}")
    value, step = _number(found[1]), 0.0
    if found[3]:
        step = _number(found[3]) * (-1 if found[2] == "-" else 1)
    for _ in range(int(found[4] or 0) + 1):
        yield value
        value += step


def _natives(found: re.Match[str]) -> Iterator[Histogram]:
    value = parse_histogram(found[1])
    for _ in range(int(found[4] or 0) + 1):
        yield value.copy()
        if found[3] is not None:
            other = parse_histogram(found[3])
            value = value.copy()
            hint = value.hint
            value.add(other) if found[2] == "+" else value.subtract(other)
            value.hint = hint


def parse_histogram(text: str) -> Histogram:
    members = dict(_MEMBER.findall(text))
    histogram = Histogram(
        schema=int(members.get("schema", 0)),
        count=_number(members.get("count", "0")),
        sum=_number(members.get("sum", "0")),
        zero_count=_number(members.get("z_bucket", "0")),
        zero_threshold=_number(members.get("z_bucket_w", "0")),
        custom=tuple(_list(members.get("custom_values", "[]"))),
        hint=_HINTS[members.get("counter_reset_hint", "unknown")],
    )
    for side, buckets, offset in (("positive", "buckets", "offset"), ("negative", "n_buckets", "n_offset")):
        first = int(members.get(offset, 0))
        getattr(histogram, side).update({first + i: count for i, count in enumerate(_list(members.get(buckets, "[]")))})
    assert histogram.schema == CUSTOM or not histogram.custom
    return histogram


def _list(text: str) -> list[float]:
    return [_number(each) for each in text.strip("[]").split()]


def is_same(left: float, right: float, epsilon: float = 1e-6) -> bool:
    """util/almost, Equal."""
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    if left == right:
        return True
    size, difference, least = abs(left) + abs(right), abs(left - right), 2.0**-1022
    if left == 0 or right == 0 or size < least:
        return difference < epsilon * least
    return difference / min(size, 1.7976931348623157e308) < epsilon


def is_same_histogram(expected: Histogram, actual: Histogram) -> bool:
    scalars = ("count", "sum", "zero_count")
    if expected.schema != actual.schema or expected.zero_threshold != actual.zero_threshold:
        return False
    if expected.custom != actual.custom or not all(is_same(getattr(expected, s), getattr(actual, s)) for s in scalars):
        return False
    for side in ("positive", "negative"):
        mine = {i: c for i, c in getattr(expected, side).items() if c != 0}
        theirs = {i: c for i, c in getattr(actual, side).items() if c != 0}
        if mine.keys() != theirs.keys() or not all(is_same(mine[i], theirs[i]) for i in mine):
            return False
    return True
