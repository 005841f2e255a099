"""Faults at chosen steps: every system call and statement by which the storage changes anything is a step."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest
from peewee import OperationalError

from models import base

CALLS = ("pwritev", "fdatasync", "fsync", "ftruncate", "rename", "unlink", "mkdir", "rmdir")


class Crash(Exception):
    """The process was killed: nothing that comes after it in the program happens."""


class Steps:
    """Counts the steps. Step number `at` fails; with `is_crash` it and all after it never happen."""

    def __init__(self, at: int | None = None, *, is_crash: bool = True) -> None:
        self.at, self.is_crash = at, is_crash
        self.taken: list[str] = []
        self.is_dead = False

    def take(self, name: str, failure: Callable[[], Exception]) -> None:
        if self.is_dead:
            raise Crash
        self.taken.append(name)
        if len(self.taken) - 1 == self.at:
            self.is_dead = self.is_crash
            raise Crash if self.is_crash else failure()


def _wrap(steps: Steps, name: str, real: Callable[..., Any], failure: Callable[[], Exception]) -> Callable[..., Any]:
    def step(*arguments: Any, **keywords: Any) -> Any:
        steps.take(name, failure)
        return real(*arguments, **keywords)

    return step


@contextmanager
def injected(steps: Steps) -> Iterator[Steps]:
    """Everything in the block goes through the steps."""
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, _wrap(steps, name, getattr(os, name), lambda: OSError(errno.EIO, "injected")))
        write = pl.DataFrame.write_parquet
        patch.setattr(
            pl.DataFrame, "write_parquet", _wrap(steps, "write_parquet", write, lambda: OSError(errno.ENOSPC, "full"))
        )
        for name in ("execute_sql", "commit"):
            # Of the class: what is restored is bound only meanwhile.
            real = getattr(base._Pool, name)
            patch.setattr(base._Pool, name, _wrap(steps, name, real, lambda: OperationalError("injected")))
        yield steps
