"""Two answers of Prometheus' API, compared: errors, types, label sets, times, values, annotations."""

import math
import re
from typing import Any

# The order of summation differs where Prometheus' own is not told; its tests allow 1e-6 (promqltest, defaultEpsilon).
EPSILON = 1e-12


def differences(expected: dict[str, Any], actual: dict[str, Any], *, ordered: bool) -> list[str]:
    """What differs; empty if nothing does."""
    if expected["status"] != actual["status"]:
        return [
            f"status {actual['status']} {actual.get('error')} instead of {expected['status']} {expected.get('error')}"
        ]
    if expected["status"] == "error":
        # What is wrong with the text is in the parser's words, what went wrong in Prometheus'.
        told = ("errorType", "error") if expected["errorType"] == "execution" else ("errorType",)
        pairs = [(name, str(expected[name]), str(actual[name])) for name in told]
        return [f"{name} {given} instead of {wanted}" for name, wanted, given in pairs if _told(wanted) != _told(given)]
    found = _data(expected["data"], actual["data"], ordered=ordered)
    for name in ("warnings", "infos"):
        if sorted(expected.get(name, [])) != sorted(actual.get(name, [])):
            found.append(f"{name} {actual.get(name)} instead of {expected.get(name)}")
    return found


def _told(error: str) -> str:
    """Ambiguous matching is one error here: its words tell what is found first, of series and of steps."""
    return re.sub(r"found duplicate series for .*|multiple matches for labels: .*", "ambiguous", error)


def _data(expected: dict[str, Any], actual: dict[str, Any], *, ordered: bool) -> list[str]:
    kind = expected["resultType"]
    if kind != actual["resultType"]:
        return [f"{actual['resultType']} instead of {kind}"]
    if kind in ("scalar", "string"):
        return _point("", expected["result"], actual["result"])
    series = [{_key(each["metric"]): each for each in data["result"]} for data in (expected, actual)]
    if series[0].keys() != series[1].keys():
        missing, extra = series[0].keys() - series[1].keys(), series[1].keys() - series[0].keys()
        return [f"missing {sorted(missing)[:3]}, unexpected {sorted(extra)[:3]}"]
    found = [] if not ordered or list(series[0]) == list(series[1]) else ["another order"]
    for key, each in series[0].items():
        found += _series(key, each, series[1][key])
    return found


def _key(metric: dict[str, str]) -> str:
    return str(sorted(metric.items()))


def _series(key: str, expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    if expected.keys() != actual.keys():
        return [f"{key}: {sorted(actual)} instead of {sorted(expected)}"]
    found: list[str] = []
    for name in expected.keys() - {"metric"}:
        points = ([each[name]] if name in ("value", "histogram") else each[name] for each in (expected, actual))
        wanted, given = points
        if len(wanted) != len(given):
            return [f"{key}: {len(given)} {name} instead of {len(wanted)}"]
        for one, other in zip(wanted, given, strict=True):
            found += _point(key, one, other)
    return found[:3]


def _point(key: str, expected: list[Any], actual: list[Any]) -> list[str]:
    if expected[0] != actual[0]:
        return [f"{key}: time {actual[0]} instead of {expected[0]}"]
    is_same = _same_histogram if isinstance(expected[1], dict) else is_same_text
    return [] if is_same(expected[1], actual[1]) else [f"{key} at {expected[0]}: {actual[1]} instead of {expected[1]}"]


def is_same_text(expected: str, actual: str) -> bool:
    if expected == actual:
        return True
    try:
        left, right = float(expected), float(actual)
    except ValueError:
        return False
    return math.isclose(left, right, rel_tol=EPSILON)


def _same_histogram(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    if not all(is_same_text(expected[name], actual[name]) for name in ("count", "sum")):
        return False
    left, right = expected.get("buckets", []), actual.get("buckets", [])
    return len(left) == len(right) and all(
        one[0] == other[0] and all(map(is_same_text, one[1:], other[1:]))
        for one, other in zip(left, right, strict=True)
    )
