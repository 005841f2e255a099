"""A query process whose parser never ends and holds the lock of the interpreter."""

import ctypes
from collections.abc import Callable

from query.process import worker


def _hang(_: object, __: Callable[[bytes], None]) -> dict[str, object]:
    ctypes.PyDLL(None).sleep(600)
    return {}


def handler() -> worker.Handle:
    return _hang
