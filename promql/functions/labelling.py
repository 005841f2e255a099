"""Functions that look at labels, not at values: label_replace, label_join, absent, the sorts (promql/functions.go)."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from promql.fault import failed
from promql.labels import METRIC_NAME, Labels, is_label_name, labels_of, value_of
from promql.regexps import Pattern, compile_pattern
from promql.series import Matrix
from promql.tree import Node, Range, Selector

# ${name}, $name and $1 in a replacement, and $$ for a dollar (regexp.Expand).
_TEMPLATE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+)|(\$))", re.ASCII)
_DIGITS: Final = re.compile(r"(\d+)")


def label_replace(matrix: Matrix, destination: str, replacement: str, source: str, expression: str) -> Matrix:
    """Sets a label to what the expression finds in another one, where it matches all of it."""
    try:
        pattern = compile_pattern(expression)
    except ValueError as error:
        raise failed(f"invalid regular expression in label_replace(): {expression}") from error
    if not is_label_name(destination):
        raise failed(f"invalid destination label name in label_replace(): {_shown(destination)}")
    found = pattern.groups([value_of(each, source) for each in matrix.labels])
    labels = [
        each if groups is None else _with(each, destination, _expanded(replacement, groups, pattern))
        for each, groups in zip(matrix.labels, found, strict=True)
    ]
    return Matrix(labels, matrix.values, matrix.present, matrix.histograms)


def _expanded(template: str, groups: Sequence[str], pattern: Pattern) -> str:
    def value(found: re.Match[str]) -> str:
        if found[3]:
            return "$"
        name = found[1] or found[2]
        index = int(name) if name.isdigit() else pattern.names.get(name, -1)
        return groups[index] if 0 <= index < len(groups) else ""

    return _TEMPLATE.sub(value, template)


def label_join(matrix: Matrix, destination: str, separator: str, sources: Sequence[str]) -> Matrix:
    """Sets a label to the values of others, joined."""
    for source in sources:
        if not is_label_name(source):
            raise failed(f"invalid source label name in label_join(): {_shown(source)}")
    if not is_label_name(destination):
        raise failed(f"invalid destination label name in label_join(): {_shown(destination)}")
    labels = [
        _with(each, destination, separator.join(value_of(each, source) for source in sources)) for each in matrix.labels
    ]
    return Matrix(labels, matrix.values, matrix.present, matrix.histograms)


def _shown(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _with(labels: Labels, name: str, value: str) -> Labels:
    return labels_of({**dict(labels), name: value})


def absent_labels(argument: Node) -> Labels:
    """The labels that the selector asks for by equality, once each (createLabelsForAbsentFunction)."""
    selector = argument.selector if isinstance(argument, Range) else argument
    if not isinstance(selector, Selector):
        return ()
    wanted: dict[str, str] = {}
    seen: set[str] = set()
    for matcher in selector.matchers:
        if matcher.name == METRIC_NAME:
            continue
        if matcher.operation == "=" and matcher.name not in seen:
            wanted[matcher.name] = matcher.value
            seen.add(matcher.name)
        else:
            wanted.pop(matcher.name, None)
    return labels_of(wanted)


def absent(matrix: Matrix, argument: Node) -> Matrix:
    """One where no series has a value."""
    missing = np.asarray(~matrix.present.any(axis=0, keepdims=True))
    return Matrix([absent_labels(argument)], np.ones(missing.shape), missing)


def sorted_by_value(matrix: Matrix, *, descending: bool) -> Matrix:
    """The numbers of an instant vector in order, NaN last; histograms are left out. Ranges have no order."""
    numbers = matrix.rows(matrix.floats[:, 0]) if matrix.steps == 1 else matrix
    if matrix.steps != 1:
        return Matrix(numbers.labels, numbers.values, numbers.floats).without_empty()
    values = numbers.values[:, 0]
    order = np.argsort(np.where(np.isnan(values), np.inf, -values if descending else values), kind="stable")
    order = np.concatenate((order[~np.isnan(values[order])], order[np.isnan(values[order])]))
    return numbers.rows(order)


def sorted_by_label(matrix: Matrix, names: Sequence[str], *, descending: bool) -> Matrix:
    """In natural order of the labels' values, then of all labels (natsort)."""
    keys = [([natural(value_of(each, name)) for name in names], each) for each in matrix.labels]
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
    return matrix.rows(np.asarray(order, dtype=np.int64))


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that orders numbers in texts by their value.

    >>> natural("cpu2") < natural("cpu10")
    True
    """
    parts = [part for part in _DIGITS.split(text) if part]
    return tuple((0, int(part), part) if part.isdigit() else (1, 0, part) for part in parts)
