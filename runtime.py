"""The border to gevent: blocking or heavy work leaves the hub here. The only gevent besides wsgi.py."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import gevent

P = ParamSpec("P")
R = TypeVar("R")


def offload(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of `function`, run in the hub's thread pool while other greenlets go on.

    For work that releases the GIL or blocks in a system call: Polars, fsync, big files. Costs about 40 us, so
    not for less than that. The function must be pure over plain values: no request, no database connection.
    """
    return gevent.get_hub().threadpool.apply(function, args, kwargs)  # type: ignore[no-any-return]
