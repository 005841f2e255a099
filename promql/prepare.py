"""What is settled before an expression is evaluated: `@ start()`, and which parts are the same at every step.

Follows promql/engine.go: PreprocessExpr, preprocessExprHelper, foldQueryContextFunctions.
"""

from dataclasses import replace
from typing import Final

from promql import tree
from promql.series import Steps
from promql.tree import Aggregate, Binary, Call, Invariant, Negation, Node, Paren, Range, Selector, Subquery

# What depends on the instant even where all arguments do not (AtModifierUnsafeFunctions).
_VARYING: Final = frozenset(
    """days_in_month day_of_month day_of_week day_of_year end hour minute month year predict_linear range start step
    time timestamp""".split()
)

_STATISTICS: Final = frozenset({"histogram_count", "histogram_sum", "histogram_avg"})
_NEED_BUCKETS: Final = frozenset({"histogram_quantile", "histogram_quantiles", "histogram_fraction"})


def prepare(node: Node, steps: Steps, *, is_range: bool) -> Node:
    """The expression for these steps."""
    folded = _marked(_folded(node, steps, is_range=is_range), False)
    prepared, _, wraps = _prepared(folded, steps)
    return Invariant(prepared, prepared.at) if wraps else prepared


def _folded(node: Node, steps: Steps, *, is_range: bool) -> Node:
    """start(), end(), range() and step() are numbers."""
    if isinstance(node, Call) and not node.args:
        values = {"start": steps.start / 1000, "end": steps.end / 1000, "range": (steps.end - steps.start) / 1000}
        values["step"] = steps.interval / 1000 if is_range and steps.start != steps.end else 0.0
        if node.function in values:
            return tree.Number(values[node.function], node.at)
    match node:
        case Subquery() | Negation() | Paren():
            return replace(node, expr=_folded(node.expr, steps, is_range=is_range))
        case Call():
            return replace(node, args=tuple(_folded(each, steps, is_range=is_range) for each in node.args))
        case Aggregate():
            parameter = None if node.parameter is None else _folded(node.parameter, steps, is_range=is_range)
            return replace(node, expr=_folded(node.expr, steps, is_range=is_range), parameter=parameter)
        case Binary():
            left, right = (_folded(each, steps, is_range=is_range) for each in (node.left, node.right))
            return replace(node, left=left, right=right)
    return node


def _marked(node: Node, asked: bool) -> Node:
    """Marks the selectors of which only counts and sums are asked (detectHistogramStatsDecoding)."""
    match node:
        case Selector():
            return replace(node, statistics=asked)
        case Range():
            return replace(node, selector=replace(node.selector, statistics=asked))
        case Call():
            if node.function in _NEED_BUCKETS:
                return node
            inner = asked or node.function in _STATISTICS
            return replace(node, args=tuple(_marked(each, inner) for each in node.args))
        case Binary() if node.operation not in ("</", ">/"):
            return replace(node, left=_marked(node.left, asked), right=_marked(node.right, asked))
        case Aggregate() | Negation() | Paren():
            return replace(node, expr=_marked(node.expr, asked))
    return node


def _fixed(at: tree.AtTime, steps: Steps) -> int | None:
    return {"start": steps.start, "end": steps.end}[at] if isinstance(at, str) else at


def _prepared(node: Node, steps: Steps) -> tuple[Node, bool, bool]:
    """The node, whether it is the same at every step, and whether it should then be evaluated once."""
    match node:
        case Selector():
            fixed = _fixed(node.fixed, steps)
            return replace(node, fixed=fixed), fixed is not None, fixed is not None
        case Range():
            fixed = _fixed(node.selector.fixed, steps)
            return replace(node, selector=replace(node.selector, fixed=fixed)), fixed is not None, False
        case Subquery():
            return _subquery(node, steps)
        case Call():
            return _call(node, steps)
        case Aggregate():
            inner, is_invariant, wraps = _prepared(tree.unwrapped(node.expr), steps)
            parameter = node.parameter
            if parameter is not None:
                parameter = _prepared(tree.unwrapped(parameter), steps)[0]
            return replace(node, expr=inner, parameter=parameter), is_invariant, wraps
        case Binary():
            return _binary(node, steps)
        case Paren() | Negation():
            inner, is_invariant, wraps = _prepared(node.expr, steps)
            return replace(node, expr=inner), is_invariant, wraps
    return node, True, False


def _subquery(node: Subquery, steps: Steps) -> tuple[Node, bool, bool]:
    inner, is_invariant, _ = _prepared(node.expr, steps)
    fixed = _fixed(node.fixed, steps)
    expr = Invariant(inner, inner.at) if is_invariant else inner
    return replace(node, expr=expr, fixed=fixed), fixed is not None, False


def _call(node: Call, steps: Steps) -> tuple[Node, bool, bool]:
    found = [_prepared(tree.unwrapped(each), steps) for each in node.args]
    args = tuple(each[0] for each in found)
    is_timestamp = node.function == "timestamp" and all(
        invariant and isinstance(each, Selector) for each, invariant, _ in found
    )
    if is_timestamp or (node.function not in _VARYING and all(invariant for _, invariant, _ in found)):
        return replace(node, args=args), True, True
    wrapped = tuple(Invariant(each, each.at) if wraps else each for each, _, wraps in found)
    return replace(node, args=wrapped), False, False


def _binary(node: Binary, steps: Steps) -> tuple[Node, bool, bool]:
    left, right = _prepared(node.left, steps), _prepared(node.right, steps)
    if left[1] and right[1]:
        return replace(node, left=left[0], right=right[0]), True, True
    sides = [Invariant(each, each.at) if wraps else each for each, _, wraps in (left, right)]
    return replace(node, left=sides[0], right=sides[1]), False, False
