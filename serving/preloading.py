"""What gunicorn's master imports for its workers before it forks them: they share its pages, and start at once.

It imports and runs nothing: Polars would start threads, which a fork does not copy
(docs/decisions/query-processes.md, "A fork server").
"""

import gc
import importlib
from typing import Final

from gevent import monkey

# What modules take hold of while they are imported. The rest stays as it is until a worker patches it, because it is
# the master's: with gevent's fork and signals it would not hear of a worker that ended, with its sleep it would run a
# hub.
PATCHES: Final = (
    monkey.patch_thread,
    monkey.patch_socket,
    monkey.patch_select,
    monkey.patch_selectors,
    monkey.patch_ssl,
    monkey.patch_queue,
)


def load(*modules: str) -> None:
    """Import them, and leave their objects to themselves, so that no collection of a worker writes to shared pages.

    What a collection freed here would be holes in these pages, which the workers' own objects would fill.
    """
    gc.disable()
    for patch in PATCHES:
        patch()
    for module in modules:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
