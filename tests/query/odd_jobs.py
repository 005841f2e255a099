"""A query process that does what the tests of the pool need: misbehave on command."""

import ctypes
import os
import time
from collections.abc import Callable
from typing import Any

from errors import InvalidSQL
from query.process import protocol, worker


def handle(request: Any, emit: Callable[[bytes], None]) -> dict[str, Any]:
    name, *arguments = request
    return JOBS[name](emit, *arguments) or {"pid": os.getpid()}


def _echo(emit: Callable[[bytes], None], data: bytes, times: int) -> None:
    for _ in range(times):
        emit(data)


def _sleep(_: Callable[[bytes], None], seconds: float) -> None:
    time.sleep(seconds)


def _hold_the_lock_of_the_interpreter(_: Callable[[bytes], None]) -> None:
    """As a regular expression of Python does: nothing else of this process runs."""
    ctypes.PyDLL(None).sleep(600)


def _allocate(_: Callable[[bytes], None], size: int) -> None:
    held = []
    for _unused in range(size // 2**20):
        held.append(b"x" * 2**20)
    time.sleep(600)


def _keep(_: Callable[[bytes], None], size: int) -> None:
    globals()["kept"] = b"x" * size


def _fill(emit: Callable[[bytes], None], size: int) -> None:
    held = b"x" * size
    emit(str(os.getpid()).encode().ljust(protocol.DATA_BYTES))
    time.sleep(600 if held else 0)


def _die(_: Callable[[bytes], None], signal_number: int) -> None:
    os.kill(os.getpid(), signal_number)


def _exit(_: Callable[[bytes], None], code: int) -> None:
    os._exit(code)


def _refuse(emit: Callable[[bytes], None]) -> None:
    emit(b"half a result")
    raise InvalidSQL("no such thing", position=7, sqlstate="42703")


def _quote(_: Callable[[bytes], None], size: int) -> None:
    raise InvalidSQL("x" * size, sqlstate="22P02", hint="y" * size)


def _tell(_: Callable[[bytes], None], size: int) -> dict[str, Any]:
    return {"text": "x" * size}


def _break(_: Callable[[bytes], None]) -> None:
    raise LookupError("secret internals")


def _environment(_: Callable[[bytes], None]) -> dict[str, Any]:
    return dict(os.environ)


JOBS: dict[str, Callable[..., Any]] = {
    "echo": _echo,
    "sleep": _sleep,
    "hang": _hold_the_lock_of_the_interpreter,
    "allocate": _allocate,
    "keep": _keep,
    "fill": _fill,
    "die": _die,
    "exit": _exit,
    "refuse": _refuse,
    "break": _break,
    "quote": _quote,
    "tell": _tell,
    "environment": _environment,
}


def handler() -> worker.Handle:
    return handle
