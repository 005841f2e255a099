"""Decoding without the cycle collector."""

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def uncollected(decode: Callable[P, R]) -> Callable[P, R]:
    """Runs `decode` without the cycle collector.

    A large request is some hundred thousand objects, none of them garbage before its end, and the collector would
    walk through them again and again: a third of the time (docs/decisions/otlp.md). Threads may do so at once: the
    first to begin turns the collector on again.
    """

    @wraps(decode)
    def decode_uncollected(*args: P.args, **kwargs: P.kwargs) -> R:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return decode(*args, **kwargs)
        finally:
            if collecting:
                gc.enable()

    return decode_uncollected
