"""What follows from the order of time: values that never go back while it goes on, and conditions on spans of it."""

from typing import Final

from query.plan.tree import Call, Cast, Column, Constant, Scalar

_COMPARISONS: Final = tuple(f"{operation}(any, any)" for operation in ("=", "<", "<=", ">", ">="))
_TIMES: Final = ("timestamp", "timestamptz")
# Functions that keep the order of one argument while the others are constants. Not the addition of months, which does
# not: 30 January, 2 o'clock, and 31 January, 1 o'clock, are on the same day of February.
_KEEP_ORDER: Final = (
    *(f"date_trunc(text!, {each})" for each in _TIMES),
    *(f"date_bin(interval!, {each}, {each})" for each in _TIMES),
    *(f"floor({each})" for each in ("numeric", "float8")),
    "to_timestamp(float8)",
)
_SCALE: Final = tuple(f"{sign}({each}, {each})" for sign in "*/" for each in ("numeric", "float8", "int8"))
_EPOCH: Final = tuple(f"{name}(text!, {each})" for name in ("extract", "date_part") for each in _TIMES)


def keeps_order(scalar: Scalar, time: Column) -> bool:
    """True for a value that never goes back while the time goes on."""
    match scalar:
        case Column():
            return scalar.id == time.id
        case Cast(lenient=False, modifiers=()):
            return scalar.type.name in (*_TIMES, "date", "float8", "numeric") and keeps_order(scalar.value, time)
        case Call(function="timezone(text!, timestamptz)", args=(Constant(value="UTC"), value)):
            return keeps_order(value, time)
        case Call(function=name, args=(Constant(value="epoch"), value)) if name in _EPOCH:
            return keeps_order(value, time)
        case Call(function=name, args=(value, Constant(value=factor))) if name in _SCALE:
            return isinstance(factor, int | float) and factor > 0 and keeps_order(value, time)
        case Call(function=name, args=args) if name in _KEEP_ORDER:
            varying = [arg for arg in args if not is_constant(arg)]
            return len(varying) == 1 and keeps_order(varying[0], time)
        case _:
            return False


def is_constant(scalar: Scalar) -> bool:
    """True for a constant, also of another type than it was written as."""
    return isinstance(scalar, Constant) or (isinstance(scalar, Cast) and is_constant(scalar.value))


def is_span(predicate: Scalar, time: Column) -> bool:
    """True for a condition that holds from one time to another, and nowhere else."""
    match predicate:
        case Constant(value=True):
            return True
        case Call(function=name, args=(left, right)) if name in _COMPARISONS:
            return (keeps_order(left, time) and is_constant(right)) or (is_constant(left) and keeps_order(right, time))
        case _:
            return False
