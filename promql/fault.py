"""The errors of PromQL, in Prometheus' words."""

from errors import InvalidPromQL, PromQLFailed


def position(text: str, at: int) -> str:
    """Line and column as Prometheus writes them (posrange.PositionRange.StartPosInput).

    >>> position("a +\\n b", 5)
    '2:2'
    """
    before = text[:at]
    line = before.count("\n") + 1
    return f"{line}:{at - (before.rfind(chr(10)) + 1) + 1}"


def syntax_error(message: str, text: str, at: int) -> InvalidPromQL:
    """What a text that is no expression is answered with (promql/parser/parse.go, ParseErr)."""
    return InvalidPromQL(f"{position(text, at)}: parse error: {message}")


def failed(message: str) -> PromQLFailed:
    """What ends the evaluation of an expression (promql.evaluator.errorf)."""
    return PromQLFailed(message)
