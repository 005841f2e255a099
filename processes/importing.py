"""Imports for processes that will be forked from this one."""

import gc
import importlib
from collections.abc import Iterable


def import_for_forks(modules: Iterable[str]) -> None:
    """Import them, and leave their objects to themselves, so that no collection of a child writes to shared pages.

    What a collection freed here would be holes in these pages, which the children's own objects would fill: it is off
    from now on.
    """
    gc.disable()
    for module in modules:
        importlib.import_module(module)
    gc.freeze()
