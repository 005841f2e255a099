"""What gunicorn's master imports for its workers before it forks them: they share its pages, and start at once.

It imports and runs nothing: Polars would start threads, which a fork does not copy
(docs/decisions/query-processes.md, "A fork server").
"""

import gc
from typing import Final

from gevent import events, monkey

from processes.importing import import_for_forks

# What modules take hold of while they are imported.
IN_MASTER: Final = (
    monkey.patch_thread,
    monkey.patch_socket,
    monkey.patch_select,
    monkey.patch_selectors,
    monkey.patch_ssl,
    monkey.patch_queue,
)
# The rest, in gevent's order. The master keeps its own: with gevent's fork and signals it would not hear of a worker
# that ended, with its sleep it would run a hub.
IN_WORKERS: Final = (
    monkey.patch_os,
    monkey.patch_time,
    monkey.patch_subprocess,
    monkey.patch_builtins,
    monkey.patch_signal,
    monkey.patch_contextvars,
)


def load(*modules: str) -> None:
    """Import them as a worker would, in the master."""
    for patch in IN_MASTER:
        patch()
    import_for_forks(modules)
    gc.enable()


def finish() -> None:
    """In a worker: patch what is left, so that `patch_all` of gunicorn and of wsgi.py find nothing to do.

    A thread module that is patched twice has two hooks for forks, of which the second one fails.
    """
    for patch in IN_WORKERS:
        patch()
    events.subscribers.append(_all_is_patched)


def _all_is_patched(event: object) -> None:
    if isinstance(event, events.GeventWillPatchAllEvent):
        raise events.DoNotPatch
