"""How a host becomes one of its deployment, and how it leaves without being missed."""

import logging
import shutil

from errors import WeirError
from models import host, segment
from storage.context import Layout
from storage.upkeep.conversion import convert_all
from storage.wal.segments import list_segments

logger = logging.getLogger(__name__)


def join(layout: Layout, url: str | None) -> None:
    """Make this host known; before its first event. Raises Conflict, StorageUnavailable.

    Mirrors go: nobody syncs them, so after a crash of the machine they may hold anything.
    """
    shutil.rmtree(layout.mirrors, ignore_errors=True)
    host.arrive(layout.node, url)


def leave(layout: Layout, *, is_alone: bool) -> None:
    """After the last worker and maintenance: convert what is left, and say so. Raises StorageUnavailable.

    A host that is alone leaves its segments for its next start: nobody waits for them meanwhile.
    """
    host.stop(layout.node, has_nothing_left=not is_alone and _convert(layout))


def _convert(layout: Layout) -> bool:
    """Whether all of the host's events are in the manifest now."""
    try:
        convert_all(layout)
    except (WeirError, OSError) as error:
        logger.warning("not everything is converted, so other hosts will miss this one: %s", error)
    names = [each.name for each in list_segments(layout.staging) if each.size]
    return not set(names) - segment.converted(names)
