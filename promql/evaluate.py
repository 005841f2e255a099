"""The evaluator: an expression over all series and all steps at once."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import numpy as np

from promql import tree
from promql.aggregate import aggregated, counted_values, group
from promql.annotations import Annotations
from promql.arrays import Floats
from promql.distinct import distinct, refuse_same_labels
from promql.fault import failed
from promql.functions import histograms, labelling
from promql.functions.dates import DATES
from promql.functions.elementwise import ELEMENTWISE, apply, clamped
from promql.functions.over_time import OVER_TIME
from promql.functions.range_input import RangeInput
from promql.functions.rates import RATES
from promql.infos import with_info
from promql.labels import is_label_name, quoted, without_metadata
from promql.matching import CHANGING, combined, pair, result_labels, set_operation
from promql.operators import Operands, compute, compute_floats
from promql.prepare import prepare
from promql.ranking import ranked
from promql.selecting import Source, latest, range_of, reference_times, subquery_steps, windows
from promql.series import Matrix, Samples, Steps, nothing, samples_of, scalar, stacked, with_hints
from promql.tree import Aggregate, Binary, Call, Invariant, Negation, Node, Range, Selector, Subquery, Type, type_of

_RANGE_FUNCTIONS: Final = RATES | OVER_TIME
_RANKINGS: Final = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
_BEFORE_MS: Final = 300_000
_KEEPS_NAME: Final = frozenset({"last_over_time", "first_over_time"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds an evaluation: samples held at once, how old a value may be, the step of subqueries without one."""

    samples: int = 50_000_000
    lookback_ms: int = 300_000
    subquery_step_ms: int = 60_000


@dataclass
class Result:
    """`type` says which of the others counts: a matrix has samples of a range selector, else values at steps."""

    type: Type
    steps: Steps
    matrix: Matrix = field(default_factory=lambda: nothing(0))
    samples: Samples | None = None
    text: str = ""
    notes: Annotations = field(default_factory=Annotations)
    read_samples: int = 0
    # Of the evaluation's time, what it took to have the samples.
    select_seconds: float = 0.0


def evaluate(node: Node, steps: Steps, source: Source, limits: Limits, *, is_range: bool) -> Result:
    """The expression's value at the steps. Raises PromQLFailed, InvalidPromQL."""
    evaluator = Evaluator(source, limits)
    prepared = prepare(node, steps, is_range=is_range)
    result = Result(type_of(node), steps, notes=evaluator.notes)
    inner = tree.unwrapped(prepared.expr if isinstance(prepared, Invariant) else prepared)
    if isinstance(inner, tree.String):
        result.text = inner.value
    elif isinstance(inner, Range | Subquery):
        result.samples = evaluator.range_samples(inner, steps)
    else:
        result.matrix = evaluator.evaluate(prepared, steps).without_empty()
    result.read_samples, result.select_seconds = evaluator.read_samples, evaluator.select_seconds
    return result


class Evaluator:
    """One evaluation: its annotations and how many samples it holds."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source, self.limits = source, limits
        self.notes = Annotations()
        self.read_samples, self.select_seconds = 0, 0.0
        self._selected: dict[object, Samples] = {}

    def select(self, matchers: tuple[tree.Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        """As a Source; the same selection is made once."""
        key = matchers, start_ms, end_ms
        if key not in self._selected:
            begun = perf_counter()
            self._selected[key] = self.source.select(matchers, start_ms, end_ms)
            self.select_seconds += perf_counter() - begun
            self.read_samples += len(self._selected[key].times)
            self._bound(self.read_samples)
        return self._selected[key]

    def _bound(self, samples: int) -> None:
        if samples > self.limits.samples:
            raise failed("query processing would load too many samples into memory in query execution")

    def evaluate(self, node: Node, steps: Steps) -> Matrix:
        """The value at each step; a scalar is one series without labels."""
        match node:
            case tree.Number():
                return scalar(np.full(steps.count, node.value))
            case tree.Paren():
                return self.evaluate(node.expr, steps)
            case Invariant():
                return self._invariant(node, steps)
            case Selector():
                return self._latest(node, steps)
            case Negation():
                return self._negated(node, steps)
            case Binary():
                return self._binary(node, steps)
            case Aggregate():
                return self._aggregate(node, steps)
            case Call():
                return self._call(node, steps)
        raise failed(f"cannot evaluate {type_of(node)} at steps")

    def _latest(self, node: Selector, steps: Steps) -> Matrix:
        source = _Hinted(self) if node.statistics else self
        matrix, _ = latest(source, node, steps, self.limits.lookback_ms)
        self._bound(matrix.values.size)
        return matrix

    def _invariant(self, node: Invariant, steps: Steps) -> Matrix:
        once = self.evaluate(node.expr, steps.first())
        self._bound(len(once.labels) * steps.count)
        values, present = np.repeat(once.values, steps.count, axis=1), np.repeat(once.present, steps.count, axis=1)
        native = None if once.histograms is None else np.repeat(once.histograms, steps.count, axis=1)
        return Matrix(once.labels, values, present, native)

    def _negated(self, node: Negation, steps: Steps) -> Matrix:
        matrix = self.evaluate(node.expr, steps)
        if type_of(node) == Type.SCALAR:
            return scalar(-matrix.values[0])
        product = compute("*", _operands(matrix, np.array(-1.0)), self.notes, node.at)
        labels = [without_metadata(each) for each in matrix.labels]
        return distinct(Matrix(labels, -matrix.values, matrix.present, product.native))

    def _scalar(self, node: Node, steps: Steps) -> Floats:
        return np.asarray(self.evaluate(node, steps).values[0])

    def _binary(self, node: Binary, steps: Steps) -> Matrix:
        left, right = self.evaluate(node.left, steps), self.evaluate(node.right, steps)
        match type_of(node.left), type_of(node.right):
            case Type.SCALAR, Type.SCALAR:
                return scalar(compute_floats(node.operation, left.values[0], right.values[0]))
            case Type.VECTOR, Type.SCALAR:
                return self._with_scalar(node, left, right.values[0], is_swapped=False)
            case Type.SCALAR, Type.VECTOR:
                return self._with_scalar(node, right, left.values[0], is_swapped=True)
        return self._of_vectors(node, left, right)

    def _with_scalar(self, node: Binary, vector: Matrix, other: Floats, *, is_swapped: bool) -> Matrix:
        """VectorscalarBinop."""
        operands = _operands(vector, other)
        if is_swapped:
            operands = Operands(
                operands.right, operands.left, operands.right_native, operands.left_native, operands.present
            )
        outcome = compute(node.operation, operands, self.notes, node.at)
        values, native, present = outcome.values, outcome.native, outcome.kept
        if node.operation in tree.COMPARISONS:
            values, native = vector.values, vector.histograms
        if node.return_bool:
            values, native = outcome.kept.astype(np.float64), None
            present = vector.present & ~outcome.failed
        labels = vector.labels
        if node.return_bool or node.operation in CHANGING:
            labels = [without_metadata(each) for each in labels]
        return distinct(Matrix(list(labels), values, present, native).without_empty())

    def _of_vectors(self, node: Binary, left: Matrix, right: Matrix) -> Matrix:
        matching = node.matching or tree.Matching()
        if node.operation in tree.SET_OPERATIONS:
            return set_operation(node.operation, left, right, matching)
        pairs = pair(left, right, matching)
        self._bound(len(pairs.many) * left.steps)
        many, one = (right, left) if matching.card == "one-to-many" else (left, right)
        upper, lower = many.rows(pairs.many), one.rows(pairs.one)
        matched = upper.present & lower.present
        first, second = (lower, upper) if matching.card == "one-to-many" else (upper, lower)
        operands = Operands(first.values, second.values, first.histograms, second.histograms, matched)
        outcome = compute(node.operation, operands, self.notes, node.at)
        labels = [
            result_labels(of_many, of_one, node.operation, matching, return_bool=node.return_bool)
            for of_many, of_one in zip(upper.labels, lower.labels, strict=True)
        ]
        matched &= ~outcome.failed
        values, native, present = outcome.values, outcome.native, outcome.kept
        if node.return_bool:
            values, native, present = outcome.kept.astype(np.float64), None, matched
        result = Matrix(labels, values, present, native)
        return combined(pairs, matched, result, matching).without_empty()

    def _aggregate(self, node: Aggregate, steps: Steps) -> Matrix:
        if node.operation == "count_values":
            return self._count_values(node, steps)
        parameter = None if node.parameter is None else self._scalar(node.parameter, steps)
        matrix = self.evaluate(node.expr, steps)
        groups = group(matrix.labels, node.grouping, is_without=node.without)
        if parameter is not None and node.parameter is not None:
            if node.operation in _RANKINGS:
                places = node.at, node.parameter.at
                return ranked(node.operation, matrix, groups, parameter, self.notes, places)
            self._check_quantile(parameter, node.parameter.at)
        return aggregated(node.operation, matrix, groups, parameter, self.notes, node.expr.at)

    def _check_quantile(self, parameter: Floats, at: int) -> None:
        if np.isnan(parameter).any():
            self.notes.invalid_quantile(float("nan"), at)
        for beyond in (np.nanmax(parameter, initial=0.0), np.nanmin(parameter, initial=0.0)):
            if not 0 <= beyond <= 1:
                self.notes.invalid_quantile(float(beyond), at)

    def _count_values(self, node: Aggregate, steps: Steps) -> Matrix:
        label = _text(node.parameter)
        if not is_label_name(label):
            raise failed(f"invalid label name {quoted(label)}")
        matrix = self.evaluate(node.expr, steps)
        return distinct(counted_values(matrix, label, node.grouping, is_without=node.without))

    def _call(self, node: Call, steps: Steps) -> Matrix:
        name, args = node.function, node.args
        if name in _RANGE_FUNCTIONS:
            return self._range_call(node, steps)
        if name in ELEMENTWISE:
            parameters = [self._scalar(each, steps) for each in args[1:]]
            return distinct(apply(ELEMENTWISE[name], self.evaluate(args[0], steps), parameters))
        if name in DATES:
            values = self.evaluate(args[0], steps) if args else _now(steps)
            return distinct(apply(DATES[name], values, ()))
        if name in histograms.NATIVE:
            matrix = histograms.histogram_values(self.evaluate(args[0], steps), histograms.NATIVE[name])
            return distinct(matrix.without_empty())
        return self._special(node, steps)

    def _special(self, node: Call, steps: Steps) -> Matrix:
        name, args = node.function, node.args
        match name:
            case "time":
                return scalar(steps.times / 1000)
            case "pi":
                return scalar(np.full(steps.count, np.pi))
            case "max_of" | "min_of":
                pick = np.maximum if name == "max_of" else np.minimum
                return scalar(pick(self._scalar(args[0], steps), self._scalar(args[1], steps)))
            case "vector":
                return self.evaluate(args[0], steps)
            case "scalar":
                return _as_scalar(self.evaluate(args[0], steps))
            case "clamp":
                return self._clamp(node, steps)
            case "timestamp":
                return self._timestamp(args[0], steps)
            case "start_timestamp":
                return nothing(steps.count)
            case "absent":
                return labelling.absent(self.evaluate(args[0], steps), args[0]).without_empty()
            case "label_replace" | "label_join":
                return self._relabelled(node, steps)
            case "info":
                matcher = args[1].matchers if len(args) > 1 and isinstance(args[1], Selector) else None
                return with_info(self.evaluate(args[0], steps), args[0], matcher, steps, self)
            case _ if name.startswith("sort"):
                return self._sorted(node, steps)
        return self._histogram_call(node, steps)

    def _histogram_call(self, node: Call, steps: Steps) -> Matrix:
        name, args = node.function, node.args
        if name == "histogram_quantile":
            wanted, matrix = self._scalar(args[0], steps), self.evaluate(args[1], steps)
            places = args[0].at, args[1].at
            return distinct(histograms.quantiles(matrix, wanted, steps, self.notes, places).without_empty())
        if name == "histogram_fraction":
            lower, upper = self._scalar(args[0], steps), self._scalar(args[1], steps)
            matrix = self.evaluate(args[2], steps)
            return distinct(histograms.fractions(matrix, lower, upper, self.notes, args[2].at).without_empty())
        if name == "histogram_quantiles":
            return self._histogram_quantiles(node, steps)
        raise failed(f'unknown function with name "{name}"')

    def _histogram_quantiles(self, node: Call, steps: Steps) -> Matrix:
        matrix, label = self.evaluate(node.args[0], steps), _text(node.args[1])
        result = nothing(steps.count)
        for each in node.args[2:]:
            wanted = self._scalar(each, steps)
            found = histograms.quantiles(matrix, wanted, steps, self.notes, (each.at, node.args[0].at))
            result = stacked(result, histograms.labelled(found, label, float(wanted[0])))
        return distinct(result.without_empty())

    def _clamp(self, node: Call, steps: Steps) -> Matrix:
        matrix = self.evaluate(node.args[0], steps)
        least, most = (self._scalar(each, steps) for each in node.args[1:])
        result = apply(lambda values, _: clamped(values, least, most), matrix, ())
        return distinct(Matrix(result.labels, result.values, result.present & ~(most < least)).without_empty())

    def _timestamp(self, argument: Node, steps: Steps) -> Matrix:
        """When the sample of a selector was; for other expressions it is the step (rangeEvalTimestampFunction...)."""
        if isinstance(argument, Selector):
            matrix, times = latest(self, argument, steps, self.limits.lookback_ms)
        else:
            matrix = self.evaluate(argument, steps)
            times = np.broadcast_to(steps.times, matrix.values.shape)
        labels = [without_metadata(each) for each in matrix.labels]
        return distinct(Matrix(labels, times / 1000, matrix.present))

    def _relabelled(self, node: Call, steps: Steps) -> Matrix:
        matrix = self.evaluate(node.args[0], steps)
        texts = [_text(each) for each in node.args[1:]]
        if node.function == "label_join":
            return distinct(labelling.label_join(matrix, texts[0], texts[1], texts[2:]))
        return distinct(labelling.label_replace(matrix, *texts))

    def _sorted(self, node: Call, steps: Steps) -> Matrix:
        if steps.count > 1:
            text = "sort is ineffective for range queries since results are always ordered by labels"
            self.notes.warn(text, node.at)
        matrix = self.evaluate(node.args[0], steps)
        descending = node.function.endswith("_desc")
        if node.function.startswith("sort_by_label"):
            return labelling.sorted_by_label(matrix, [_text(each) for each in node.args[1:]], descending=descending)
        return labelling.sorted_by_value(matrix, descending=descending)

    def _range_call(self, node: Call, steps: Steps) -> Matrix:
        argument = next(each for each in node.args if isinstance(each, Range | Subquery))
        # Prometheus has the first argument's place in warnings, and none once a subquery is evaluated.
        first = node.args[0]
        data = self._range_input(argument, steps, 0 if isinstance(first, Subquery) else first.at)
        parameters = [self._scalar(each, steps) for each in node.args if each is not argument]
        output = _RANGE_FUNCTIONS[node.function](data, parameters)
        if node.function == "absent_over_time":
            return labelling.absent(Matrix(list(data.labels), output.values, output.present), argument).without_empty()
        keeps_name = node.function in _KEEPS_NAME
        labels = [each if keeps_name else without_metadata(each) for each in data.labels]
        result = Matrix(labels, output.values, output.present, output.histograms).without_empty()
        return refuse_same_labels(result)

    def _range_input(self, argument: Range | Subquery, steps: Steps, at: int) -> RangeInput:
        timing, range_ms = range_of(argument)
        samples = self._samples(argument, steps)
        instants = reference_times(timing, steps)
        is_fixed = isinstance(timing.fixed, int)
        self._bound(len(samples.labels) * steps.count)
        over = [
            None if each is None else windows(each, instants, steps.interval, range_ms, is_fixed=is_fixed)
            for each in (samples.floats, samples.native)
        ]
        if over[0] is None:
            raise failed("no windows")
        return RangeInput(samples.labels, over[0], over[1], steps, range_ms, instants, at, self.notes)

    def _samples(self, argument: Range | Subquery, steps: Steps) -> Samples:
        """All samples of the windows."""
        timing, range_ms = range_of(argument)
        if isinstance(argument, Range):
            instants = reference_times(timing, steps)
            source = _Hinted(self) if argument.selector.statistics else self
            return source.select(argument.selector.matchers, int(instants[0]) - range_ms + 1, int(instants[-1]))
        inner = subquery_steps(argument, steps, self.limits.subquery_step_ms)
        if inner.count == 0:
            return samples_of(nothing(0), inner)
        self._bound(inner.count)
        return samples_of(self.evaluate(argument.expr, inner), inner)

    def range_samples(self, argument: Range | Subquery, steps: Steps) -> Samples:
        """What an instant query of a range selector or subquery answers: the samples themselves."""
        data = self._range_input(argument, steps, argument.at)
        samples = self._samples(argument, steps)
        first, last = int(data.ends[0]) - data.range_ms, int(data.ends[0])
        kept = (samples.times > first) & (samples.times <= last)
        return samples.where(kept if samples.stale is None else kept & ~samples.stale)


class _Hinted:
    """A source whose histograms say where their counters began anew."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def select(self, matchers: tuple[tree.Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        # The first sample is compared with the one before it, too.
        hinted = with_hints(self._source.select(matchers, start_ms - _BEFORE_MS, end_ms))
        return hinted if hinted.histograms is None else hinted.where(hinted.times >= start_ms)


def _operands(vector: Matrix, other: Floats) -> Operands:
    return Operands(vector.values, other, vector.histograms, None, vector.present)


def _text(node: Node | None) -> str:
    inner = None if node is None else tree.unwrapped(node.expr if isinstance(node, Invariant) else node)
    if not isinstance(inner, tree.String):
        raise failed("expected a string literal")
    return inner.value


def _now(steps: Steps) -> Matrix:
    return scalar((steps.times // 1000).astype(np.float64))


def _as_scalar(matrix: Matrix) -> Matrix:
    """The one number of a vector; NaN where there is none or more than one."""
    if not matrix.labels:
        return scalar(np.full(matrix.steps, np.nan))
    row = matrix.floats.argmax(axis=0)
    value = np.take_along_axis(matrix.values, row[None, :], axis=0)[0]
    return scalar(np.where(matrix.floats.sum(axis=0) == 1, value, np.nan))
