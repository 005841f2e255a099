"""A runner of Prometheus' promqltest files (promql/promqltest/README.md): load, clear, eval.

Reads the files that upstream keeps in promql/promqltest/testdata; none of them is here.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from errors import WeirError
from promql.durations import parse_duration
from promql.evaluate import Limits, Result, evaluate
from promql.histogram import CUSTOM, Histogram
from promql.labels import Labels, labels_of, text_of
from promql.parse import parse
from promql.series import Steps
from promql.tree import Type
from tests.promql.memory_source import MemorySource, Value
from tests.promql.series_notation import is_same, is_same_histogram, parse_series

_INSTANT = re.compile(r"eval(?:_(fail|warn|ordered|info))?\s+instant\s+(?:at\s+(\S+))?\s*(.+)")
_RANGE = re.compile(r"eval(?:_(fail|warn|info))?\s+range\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)\s+(.+)")
_EXPECT = re.compile(r"expect\s+(ordered|fail|warn|no_warn|info|no_info)(?:\s+(regex|msg):(.+))?")
_EXPECT_RANGE = re.compile(r"expect range vector\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)")
# What needs a feature flag of Prometheus, which its server does not have by default.
FLAGGED = ("anchored modifier", "smoothed modifier", "binop fill modifiers", "experimental duration expression")
# Files of features behind flags whose expressions look like any other: what differs there differs because of the flag.
FLAGGED_FILES = {
    "start_timestamps": "use-start-timestamps",
    "name_label_dropping": "promql-delayed-name-removal",
    "type_and_unit": "promql-delayed-name-removal",
}
LIMITS = Limits()
# Upstream's tests run with delayed name removal, a feature flag: the name is still known where these warnings arise.
_NAMED = re.compile(r'((?:malformed value of "[^"]*"|classic and native histograms)) for metric name "[^"]*"')


@dataclass
class Outcome:
    """`refused`: by the construct that needs a flag. `differing`: line, expression and what was different."""

    equal: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differing: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass
class Evaluation:
    line: int
    expression: str
    steps: Steps
    is_range: bool
    expects: list[tuple[str, str, str]] = field(default_factory=list)
    series: dict[Labels, tuple[int, list[Value | None]]] = field(default_factory=dict)
    scalar: float | None = None
    text: str | None = None
    window: Steps | None = None

    def wants(self, kind: str) -> list[tuple[str, str]]:
        return [(form, text) for each, form, text in self.expects if each == kind]


class Different(Exception):
    """The result is not what the file says."""


def run_file(path: Path) -> Outcome:
    outcome, source = Outcome(), MemorySource()
    lines = [re.sub(r"\t+", " ", line).strip() for line in path.read_text("utf-8").split("\n")]
    lines = ["" if line.startswith("#") else line for line in lines]
    at = 0
    while at < len(lines):
        line = lines[at]
        end = next((i for i in range(at + 1, len(lines)) if not lines[i]), len(lines))
        if line.startswith("clear"):
            source = MemorySource()
            at += 1
        elif line.startswith("load"):
            load(source, line, lines[at + 1 : end])
            at = end
        elif line.startswith("eval"):
            evaluation, used = _evaluation(at + 1, line, lines[at + 1 : end])
            _judge(outcome, evaluation, source)
            at += 1 + used
        else:
            at += 1
    flag = FLAGGED_FILES.get(path.stem)
    if flag and outcome.differing:
        outcome.refused[flag] += len(outcome.differing)
        outcome.differing.clear()
    return outcome


def load(source: MemorySource, command: str, lines: list[str]) -> None:
    step = parse_duration(command.split()[1])
    # Of lines with the same labels the last counts.
    loaded = list(dict(parse_series(line) for line in lines if not line.split()[0].endswith("@st")).items())
    for labels, values in loaded:
        for position, value in enumerate(values):
            if value is not None:
                source.add(labels, position * step, value)
    if command.startswith("load_with_nhcb"):
        _load_custom(source, loaded, step)


def _load_custom(source: MemorySource, loaded: list[tuple[Labels, list[Value | None]]], step: int) -> None:
    """Classic histograms as native ones with custom buckets (util/convertnhcb)."""
    found: dict[tuple[Labels, int], dict[str, float]] = {}
    for labels, values in loaded:
        name = dict(labels)["__name__"]
        suffix = next((each for each in ("_bucket", "_sum", "_count") if name.endswith(each)), None)
        if suffix is None:
            continue
        base = {**dict(labels), "__name__": name.removesuffix(suffix)}
        key = base.pop("le", "") if suffix == "_bucket" else suffix
        if suffix == "_bucket" and _bound(key) is None:
            continue
        for position, value in enumerate(values):
            if isinstance(value, float):
                found.setdefault((labels_of(base), position * step), {})[key] = value
    for (labels, time), parts in sorted(found.items()):
        source.add(labels, time, _custom(parts))


def _bound(text: str) -> float | None:
    try:
        return None if math.isnan(float(text)) else float(text)
    except ValueError:
        return None


def _custom(parts: dict[str, float]) -> Histogram:
    pairs = sorted((float(le), count) for le, count in parts.items() if not le.startswith("_"))
    count = parts.get("_count", pairs[-1][1] if pairs else 0.0)
    if not pairs or pairs[-1][0] != math.inf:
        pairs.append((math.inf, count))
    histogram = Histogram(CUSTOM, count, parts.get("_sum", 0.0), custom=tuple(le for le, _ in pairs[:-1]))
    before = 0.0
    for index, (_, cumulative) in enumerate(pairs):
        if cumulative != before:
            histogram.positive[index] = cumulative - before
        before = cumulative
    return histogram


def _evaluation(line: int, command: str, lines: list[str]) -> tuple[Evaluation, int]:
    instant, ranged = _INSTANT.fullmatch(command), _RANGE.fullmatch(command)
    if ranged:
        start, end, step = map(parse_duration, ranged.group(2, 3, 4))
        evaluation = Evaluation(line, ranged[5], Steps(start, end, step), True)
    else:
        assert instant, command
        time = parse_duration(instant[2] or "0")
        evaluation = Evaluation(line, instant[3], Steps(time, time, 1), False)
    mode = (ranged or instant)[1]  # type: ignore[index]
    if mode:
        evaluation.expects.append((mode, "", ""))
    for used, text in enumerate(lines):
        if not _expectation(evaluation, text):
            return evaluation, used + 1
    return evaluation, len(lines)


def _expectation(evaluation: Evaluation, line: str) -> bool:
    """Take in one line; False if it is the last."""
    if line.startswith("expected_fail_"):
        kind, _, text = line.partition(" ")
        form = "msg" if kind == "expected_fail_message" else "regex"
        evaluation.expects[:] = [("fail", form, text.strip())]
        return False
    if found := _EXPECT_RANGE.fullmatch(line):
        evaluation.window = Steps(*map(parse_duration, found.group(1, 2, 3)))
        return True
    if line.startswith("expect string"):
        evaluation.text = parse(line.removeprefix("expect string ")).value  # type: ignore[union-attr]
        return True
    if found := _EXPECT.fullmatch(line):
        evaluation.expects.append((found[1], found[2] or "", (found[3] or "").strip()))
        return True
    try:
        evaluation.scalar = float(int(line, 0)) if line.lower().startswith("0x") else float(line)
    except ValueError:
        labels, values = parse_series(line)
        evaluation.series[labels] = len(evaluation.series), values
        return True
    return False


def _judge(outcome: Outcome, evaluation: Evaluation, source: MemorySource) -> None:
    try:
        _check(evaluation, source)
        outcome.equal += 1
    except WeirError as error:
        flagged = next((each for each in FLAGGED if each in error.message), None)
        if flagged:
            outcome.refused[flagged] += 1
        else:
            outcome.differing.append((evaluation.line, evaluation.expression, f"error: {error.message}"))
    except Different as different:
        outcome.differing.append((evaluation.line, evaluation.expression, str(different)))


def _check(evaluation: Evaluation, source: MemorySource) -> None:
    try:
        result = _run(evaluation, source, evaluation.steps, is_range=evaluation.is_range)
    except WeirError as error:
        if evaluation.wants("fail") and not any(each in error.message for each in FLAGGED):
            _check_failure(evaluation, error)
            return
        raise
    if evaluation.wants("fail"):
        raise Different("no error")
    _check_notes(evaluation, result)
    _compare(evaluation, result, 0)
    if not evaluation.is_range and evaluation.window is None and evaluation.text is None:
        _check_as_range(evaluation, source)


def _run(evaluation: Evaluation, source: MemorySource, steps: Steps, *, is_range: bool) -> Result:
    tree = parse(evaluation.expression, experimental=True)
    return evaluate(tree, steps, source, LIMITS, is_range=is_range)


def _check_as_range(evaluation: Evaluation, source: MemorySource) -> None:
    """The middle of three steps has to be what the instant gave, as upstream's runner checks."""
    if evaluation.wants("ordered") or re.search(r"(start|end|range|step)\(\)", evaluation.expression):
        return
    at = evaluation.steps.start
    result = _run(evaluation, source, Steps(at - 60_000, at + 60_000, 60_000), is_range=True)
    try:
        _compare(evaluation, result, 1)
    except Different as different:
        raise Different(f"as a range: {different}") from different


def _check_failure(evaluation: Evaluation, error: WeirError) -> None:
    for form, text in evaluation.wants("fail"):
        is_match = error.message == text if form == "msg" else re.search(text, error.message) is not None
        if text and not is_match:
            raise Different(f"the error is {error.message!r} instead of {text!r}")


def _check_notes(evaluation: Evaluation, result: Result) -> None:
    warnings, infos = result.notes.texts(evaluation.expression)
    for kind, found in (("warn", warnings), ("info", infos)):
        wanted = evaluation.wants(kind)
        if wanted and not found:
            raise Different(f"no {kind}")
        if evaluation.wants(f"no_{kind}") and found:
            raise Different(f"{kind}: {found}")
        texts = [(form, text) for form, text in wanted if text]
        for form, text in texts:
            if not any(_is_match(form, text, each) for each in found):
                raise Different(f"no {kind} {text!r} among {found}")
        for each in found if texts else ():
            if not any(_is_match(form, text, each) for form, text in texts):
                raise Different(f"unexpected {kind} {each!r}")


def _is_match(form: str, text: str, found: str) -> bool:
    if form == "regex":
        return re.search(text, found) is not None
    plain = _NAMED.sub(r"\1", text)
    return plain in (found, re.sub(r" \(\d+:\d+\)$", "", found)) or text in (found, found.rpartition(" (")[0])


def _compare(evaluation: Evaluation, result: Result, step: int) -> None:
    if evaluation.text is not None:
        if result.text != evaluation.text:
            raise Different(f"text {result.text!r}")
        return
    if result.type == Type.SCALAR:
        if evaluation.scalar is None:
            if not evaluation.is_range:
                raise Different("a scalar")
        else:
            _compare_value("scalar", evaluation.scalar, float(result.matrix.values[0, step]))
            return
    found = dict(_found(evaluation, result, step))
    if evaluation.wants("ordered") and step == 0 and list(found) != list(evaluation.series):
        raise Different(f"order {[text_of(each) for each in found]}")
    for labels in found.keys() - evaluation.series.keys():
        raise Different(f"unexpected {text_of(labels)} {found[labels]}")
    for labels, (_, expected) in evaluation.series.items():
        if labels not in found:
            raise Different(f"missing {text_of(labels)}")
        _compare_series(text_of(labels), expected, found[labels])


def _found(evaluation: Evaluation, result: Result, step: int) -> Iterator[tuple[Labels, list[Value | None]]]:
    if result.samples is not None:
        samples, window = result.samples, evaluation.window
        assert window is not None
        for row, labels in enumerate(samples.labels):
            values: list[Value | None] = [None] * window.count
            for at in range(int(samples.starts[row]), int(samples.starts[row + 1])):
                native = None if samples.histograms is None else samples.histograms[at]
                place = (int(samples.times[at]) - window.start) // window.interval
                values[place] = float(samples.values[at]) if native is None else native
            if any(value is not None for value in values):
                yield labels, values
        return
    matrix = result.matrix
    columns = range(matrix.steps) if evaluation.is_range else [step]
    for row, labels in enumerate(matrix.labels):
        cells = [
            (matrix.histogram(row, at) or float(matrix.values[row, at])) if matrix.present[row, at] else None
            for at in columns
        ]
        if any(cell is not None for cell in cells):
            yield labels, cells  # type: ignore[misc]


def _compare_series(name: str, expected: list[Value | None], found: list[Value | None]) -> None:
    padded = expected + [None] * (len(found) - len(expected))
    if len(padded) > len(found) and any(value is not None for value in padded[len(found) :]):
        raise Different(f"{name}: {len(found)} instead of {len(expected)} values")
    for position, (wanted, value) in enumerate(zip(padded, found, strict=False)):
        _compare_value(f"{name} [{position}]", wanted, value)


def _compare_value(name: str, wanted: Value | None, value: Value | None) -> None:
    if isinstance(wanted, Histogram) and isinstance(value, Histogram):
        is_equal = is_same_histogram(wanted, value)
    elif isinstance(wanted, float) and isinstance(value, float):
        is_equal = is_same(wanted, value)
    else:
        is_equal = wanted is None and value is None
    if not is_equal:
        raise Different(f"{name}: {value} instead of {wanted}")
