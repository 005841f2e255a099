"""Names of OTLP metrics and attributes as Prometheus translates them (prometheus/otlptranslator, its default strategy:
UnderscoreEscapingWithSuffixes). Pure."""

import re
from collections.abc import Iterable
from typing import Final

from metric_columns import MetricMetadata

_UNITS: Final = {
    **{"d": "days", "h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds"},
    **{"ns": "nanoseconds", "By": "bytes", "KiBy": "kibibytes", "MiBy": "mebibytes", "GiBy": "gibibytes"},
    **{"TiBy": "tibibytes", "KBy": "kilobytes", "MBy": "megabytes", "GBy": "gigabytes", "TBy": "terabytes"},
    **{"m": "meters", "V": "volts", "A": "amperes", "J": "joules", "W": "watts", "g": "grams", "Cel": "celsius"},
    **{"Hz": "hertz", "1": "", "%": "percent"},
}
_PER: Final = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}
_MARKS: Final = frozenset(
    {
        "data_point_flags",
        "aggregation_temporality",
        "scope_dropped_attributes_count",
        "resource_dropped_attributes_count",
    }
)
_NO_METRIC_CHARACTER: Final = re.compile(r"[^A-Za-z0-9:]+")
_NO_LABEL_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_]")


def metric_name(name: str, unit: str, *, is_counter: bool, is_gauge: bool) -> str:
    """The name of a metric's series, before the endings of histograms and summaries.

    >>> metric_name("http.server.duration", "ms", is_counter=False, is_gauge=False)
    'http_server_duration_milliseconds'
    >>> metric_name("requests", "{request}", is_counter=True, is_gauge=False)
    'requests_total'
    """
    tokens = [each for each in _NO_METRIC_CHARACTER.split(name) if each]
    tokens += [each for each in unit_suffixes(unit) if each and each not in tokens]
    if is_counter:
        tokens = [each for each in tokens if each != "total"] + ["total"]
    if unit == "1" and is_gauge:
        tokens = [each for each in tokens if each != "ratio"] + ["ratio"]
    joined = "_".join(tokens)
    return f"_{joined}" if joined[:1].isdigit() else joined


def is_otlp(columns: Iterable[str]) -> bool:
    """Whether a dataset with these columns has data points of OTLP: one of these is there as soon as one is."""
    return not _MARKS.isdisjoint(columns)


def family_name(name: str, about: MetricMetadata) -> str:
    """The name under which Prometheus lists what was said of an OTLP metric."""
    return metric_name(name, about.unit, is_counter=about.type == "counter", is_gauge=about.type == "gauge")


def unit_suffixes(unit: str) -> tuple[str, str]:
    """What a unit adds to the name, and what it says after its slash.

    >>> unit_suffixes("By/s"), unit_suffixes("{packets}"), unit_suffixes("1")
    (('bytes', 'per_second'), ('', ''), ('', ''))
    """
    main, _, per = (part.strip() for part in unit.partition("/"))
    main = "" if set(main) & {"{", "}"} else _UNITS.get(main, main)
    per = "" if set(per) & {"{", "}"} else _PER.get(per, per)
    return _clean(main), f"per_{_clean(per)}" if _clean(per) else ""


def _clean(unit: str) -> str:
    return _NO_METRIC_CHARACTER.sub("_", unit).strip("_")


def label_name(attribute: str) -> str:
    """The label of an attribute.

    >>> label_name("http.request.method"), label_name("2xx"), label_name("_private")
    ('http_request_method', 'key_2xx', 'key_private')
    """
    name = _NO_LABEL_CHARACTER.sub("_", attribute)
    if name[:1].isdigit():
        return f"key_{name}"
    return f"key{name}" if name.startswith("_") and not name.startswith("__") else name
