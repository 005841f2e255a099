"""The text of an SQL/JSON path, as jsonpath_out writes it: keys in quotes, brackets where the order needs them."""

from collections.abc import Callable
from typing import Any, Final

from query.pg.json_path import LAST_LEVEL, Path, Step
from query.pg.json_text import scalar_text

_PRIORITIES: Final = {
    **{"or": 0, "and": 1, "compare": 2, "starts with": 2, "+": 3, "-": 3, "*": 4, "/": 4, "%": 4, "sign": 5},
}
_MOST_PRIORITY: Final = 6
_SIGNS: Final = {"or": "||", "and": "&&", "=": "==", "<>": "!="}
_ACCESSORS: Final = ("key", "any key", "any level", "any element", "elements", "filter", "method")


def path_text(path: Path) -> str:
    """The text of a path.

    >>> from query.pg.json_path import parse_path
    >>> path_text(parse_path("lax $.a[*] ? (@.b > 1 || @ == 2)"))
    '$."a"[*]?(@."b" > 1 || @ == 2)'
    """
    return ("strict " if path.is_strict else "") + _text(path.root, is_enclosed=True)


def _text(step: Step, *, is_enclosed: bool = False) -> str:
    """A step with what it begins with; an operation in brackets if it `is_enclosed`."""
    if step.kind in _ACCESSORS:
        return _beginning(step.parts[0]) + _accessor(step)
    build = _FORMS.get(step.kind)
    if build is not None:
        return build(step)
    inner = _operation(step)
    return f"({inner})" if is_enclosed else inner


def _beginning(step: Step) -> str:
    """What accessors follow: a number and an operation in brackets."""
    text = _text(step, is_enclosed=True)
    is_number = step.kind == "constant" and not isinstance(step.value, bool | str) and step.value is not None
    return f"({text})" if is_number else text


def _operand(step: Step, operation: Step) -> str:
    return _text(step, is_enclosed=_priority(step) <= _priority(operation))


def _priority(step: Step) -> int:
    """How tightly the operation binds that the step begins with."""
    while step.kind in _ACCESSORS:
        step = step.parts[0]
    kind = step.value if step.kind == "arithmetic" else step.kind
    return _PRIORITIES.get(str(kind), _MOST_PRIORITY)


def _operation(step: Step) -> str:
    operands = [_operand(part, step) for part in step.parts]
    if step.kind == "sign":
        return f"{step.value}{operands[0]}"
    if step.kind == "like_regex":
        return _matching(step, operands[0])
    sign = str(step.value) if step.kind in ("compare", "arithmetic") else step.kind
    return f" {_SIGNS.get(sign, sign)} ".join(operands)


def _matching(step: Step, operand: str) -> str:
    parts: Any = step.value
    pattern, flags = parts
    return f"{operand} like_regex {scalar_text(pattern)}" + (f' flag "{flags}"' if flags else "")


def _accessor(step: Step) -> str:
    match step.kind:
        case "key":
            return f".{scalar_text(str(step.value))}"
        case "any key":
            return ".*"
        case "any element":
            return "[*]"
        case "any level":
            return f".**{_levels(step)}"
        case "filter":
            return f"?({_text(step.parts[1])})"
        case "elements":
            return f"[{','.join(map(_range, step.parts[1:]))}]"
        case _:
            return f".{step.value}()"


def _range(step: Step) -> str:
    return " to ".join(_text(end) for end in step.parts)


def _levels(step: Step) -> str:
    bounds: Any = step.value
    low, high = bounds
    if (low, high) == (0, LAST_LEVEL):
        return ""
    ends = ["last" if end == LAST_LEVEL else str(end) for end in (low, high)]
    return f"{{{ends[0]}}}" if low == high else f"{{{' to '.join(ends)}}}"


_FORMS: Final[dict[str, Callable[[Step], str]]] = {
    "root": lambda step: "$",
    "current": lambda step: "@",
    "last": lambda step: "last",
    "constant": lambda step: scalar_text(step.value),  # type: ignore[arg-type]
    "variable": lambda step: f"${scalar_text(str(step.value))}",
    "not": lambda step: f"!({_text(step.parts[0])})",
    "is unknown": lambda step: f"({_text(step.parts[0])}) is unknown",
    "exists": lambda step: f"exists ({_text(step.parts[0])})",
}
