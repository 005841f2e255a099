"""Label sets: sorted pairs, so that tuples compare as Prometheus compares label sets (model/labels, Compare)."""

from collections.abc import Iterable, Mapping
from typing import Final

Labels = tuple[tuple[str, str], ...]

METRIC_NAME: Final = "__name__"
BUCKET: Final = "le"
QUANTILE: Final = "quantile"
EMPTY: Final[Labels] = ()
# schema.IsMetadataLabel: what describes the metric and not where it comes from. Operations that change what a value
# means drop them all.
METADATA: Final = frozenset({METRIC_NAME, "__type__", "__unit__"})


def labels_of(values: Mapping[str, str]) -> Labels:
    """The label set of a mapping. A label with an empty value is no label.

    >>> labels_of({"job": "api", "__name__": "up", "zone": ""})
    (('__name__', 'up'), ('job', 'api'))
    """
    return tuple(sorted((name, value) for name, value in values.items() if value))


def value_of(labels: Labels, name: str) -> str:
    """The label's value, empty where there is no such label."""
    for each, value in labels:
        if each == name:
            return value
    return ""


def metric_name(labels: Labels) -> str:
    return value_of(labels, METRIC_NAME)


def without_metadata(labels: Labels) -> Labels:
    """The labels of a result that is no longer the metric itself (labels.DropReserved)."""
    # A list on the way: it takes half the time of a generator, and there may be many series.
    return tuple([pair for pair in labels if pair[0] not in METADATA])


def without(labels: Labels, names: Iterable[str]) -> Labels:
    dropped = frozenset(names)
    return tuple(pair for pair in labels if pair[0] not in dropped)


def only(labels: Labels, names: Iterable[str]) -> Labels:
    kept = frozenset(names)
    return tuple([pair for pair in labels if pair[0] in kept])


def text_of(labels: Labels) -> str:
    """As Prometheus writes a label set in its errors (model/labels, Labels.String).

    >>> text_of((("__name__", "up"), ("job", "api")))
    '{__name__="up", job="api"}'
    """
    return "{" + ", ".join(f"{_name(name)}={quoted(value)}" for name, value in labels) + "}"


def is_legacy_name(name: str) -> bool:
    """Whether a label name needs no quotes.

    >>> is_legacy_name("http.method")
    False
    """
    return (
        bool(name)
        and not name[0].isdigit()
        and all(each.isascii() and (each.isalnum() or each == "_") for each in name)
    )


def is_label_name(name: str) -> bool:
    """Any text in UTF-8 is one since Prometheus 3 (model.UTF8Validation)."""
    return bool(name) and not any(0xD800 <= ord(each) <= 0xDFFF for each in name)


def _name(name: str) -> str:
    return name if is_legacy_name(name) else quoted(name)


_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"} | {
    "\f": "\\f",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    """The text in double quotes, as Go's strconv.Quote writes it.

    >>> print(quoted('a"b'))
    "a\\"b"
    """
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        # A byte that is no UTF-8.
        return f"\\x{number - 0xDC00:02x}"
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
