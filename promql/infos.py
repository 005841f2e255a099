"""info(): labels of info metrics added to other series (promql/info.go)."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from promql import tree
from promql.arrays import Ints
from promql.distinct import distinct
from promql.fault import failed
from promql.labels import METRIC_NAME, Labels, labels_of, metric_name, only, text_of, value_of
from promql.regexps import matches
from promql.selecting import Source, latest
from promql.series import Matrix, Steps
from promql.tree import Matcher, Node, Selector, Subquery

_IDENTIFYING: Final = ("instance", "job")
_TARGET_INFO: Final = Matcher(METRIC_NAME, "=", "target_info")
_ANY_INFO: Final = Matcher(METRIC_NAME, "=~", ".+_info")


class Context(Source, Protocol):
    """What info() needs of the evaluation."""

    @property
    def limits(self) -> "HasLookback": ...


class HasLookback(Protocol):
    @property
    def lookback_ms(self) -> int: ...


def with_info(
    base: Matrix, argument: Node, matchers: Sequence[Matcher] | None, steps: Steps, context: Context
) -> Matrix:
    """The series with the data labels of the info series that share `instance` and `job`."""
    data = [each for each in matchers or () if each.name != METRIC_NAME]
    names = _name_matchers([each for each in matchers or () if each.name == METRIC_NAME])
    ignored = [all(matches(each, metric_name(labels)) for each in names) for labels in base.labels]
    identifying = _identifying(base, ignored)
    if not identifying:
        return _plain(base, ignored, data)
    info, times = _info_series(argument, (*identifying, *data, *names), steps, context)
    return _combined(base, ignored, info, times, data)


def _name_matchers(matchers: list[Matcher]) -> list[Matcher]:
    """effectiveInfoNameMatchers."""
    if any(each.operation in ("=", "=~") for each in matchers):
        return matchers
    if matchers:
        return [_ANY_INFO, *matchers]
    return [_TARGET_INFO]


def _identifying(base: Matrix, ignored: Sequence[bool]) -> tuple[Matcher, ...]:
    found = []
    for name in _IDENTIFYING:
        values = {value_of(each, name) for each, is_ignored in zip(base.labels, ignored, strict=True) if not is_ignored}
        values.discard("")
        if values:
            found.append(Matcher(name, "=~", "|".join(sorted(map(_literal, values)))))
    return tuple(found)


def _literal(text: str) -> str:
    return "".join(each if each.isalnum() or each in "_ :/-" else f"\\{each}" for each in text)


def _info_series(argument: Node, matchers: tuple[Matcher, ...], steps: Steps, context: Context) -> tuple[Matrix, Ints]:
    fixed, offset = _timing(argument)
    selector = Selector("", matchers, offset, fixed)
    matrix, times = latest(context, selector, steps, context.limits.lookback_ms)
    if matrix.native is not None and matrix.native.any():
        row = int(np.flatnonzero(matrix.native.any(axis=1))[0])
        raise failed(f"this should be an info metric, with float samples: {text_of(matrix.labels[row])}")
    return matrix, times


def _timing(node: Node) -> tuple[tree.AtTime, int]:
    """The @ and offset of the first selector within, and of the subqueries around it (infoSelectTimestampAndOffset)."""
    if isinstance(node, Selector):
        return node.fixed, node.offset_ms
    for child in tree.children(node):
        fixed, offset = _timing(child)
        if isinstance(node, Subquery) and fixed is None:
            return node.fixed, offset + node.offset_ms
        return fixed, offset
    return None, 0


def _plain(base: Matrix, ignored: Sequence[bool], data: Sequence[Matcher]) -> Matrix:
    """Without info series only those remain that need none of the data labels."""
    if any(not matches(each, "") for each in data):
        return base.rows([row for row, is_ignored in enumerate(ignored) if is_ignored])
    return base


def _combined(base: Matrix, ignored: Sequence[bool], info: Matrix, times: Ints, data: Sequence[Matcher]) -> Matrix:
    """combineWithInfoVector, step by step, since which info series counts may change."""
    by_labels: dict[Labels, tuple[int, list[int]]] = {}
    for step in range(base.steps):
        current = _current(info, times, step)
        for row in map(int, np.flatnonzero(base.present[:, step])):
            labels = base.labels[row]
            added = labels if ignored[row] else _added(labels, current, data)
            if added is not None:
                by_labels.setdefault((*added, ("", str(row))), (row, []))[1].append(step)
    rows = list(by_labels.items())
    result = base.rows([row for _, (row, _) in rows])
    result.labels = [key[:-1] for key, _ in rows]
    present = np.zeros(result.present.shape, dtype=np.bool_)
    for place, (_, (_, kept)) in enumerate(rows):
        present[place, kept] = True
    return distinct(Matrix(result.labels, result.values, present, result.histograms))


def _current(info: Matrix, times: Ints, step: int) -> dict[Labels, Labels]:
    """The info series of each name, instance and job at the step: the one with the latest sample."""
    found: dict[Labels, tuple[int, Labels]] = {}
    for row in np.flatnonzero(info.present[:, step]):
        labels, at = info.labels[row], int(times[row, step])
        key = only(labels, (METRIC_NAME, *_IDENTIFYING))
        before = found.get(key)
        if before is not None and before[0] == at:
            existing = f"existing {text_of(before[1])} @ {at}, new {text_of(labels)} @ {at}"
            raise failed(f"found duplicate series for info metric: {existing}")
        if before is None or before[0] < at:
            found[key] = at, labels
    return {key: labels for key, (_, labels) in found.items()}


def _added(labels: Labels, current: dict[Labels, Labels], data: Sequence[Matcher]) -> Labels | None:
    """The labels with those of the matching info series; None where a matcher of data labels finds none."""
    wanted = {each.name for each in data}
    own, extra = dict(labels), dict[str, str]()
    identity = only(labels, _IDENTIFYING)
    is_matched = False
    for key, of_info in current.items():
        if tuple(each for each in key if each[0] != METRIC_NAME) != identity:
            continue
        is_matched = True
        for name, value in of_info:
            if name == METRIC_NAME or (wanted and name not in wanted):
                continue
            if extra.get(name, value) != value:
                raise failed(f"conflicting label: {name}")
            if name not in own:
                extra[name] = value
    if not is_matched and any(not matches(each, "") for each in data):
        return None
    return labels_of({**own, **extra})
