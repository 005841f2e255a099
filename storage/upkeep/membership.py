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
    """Register this host before its first event. Raises Conflict, StorageUnavailable.

    Mirrors are deleted: they are never synced, so after a crash of the machine their content is not reliable.
    """
    shutil.rmtree(layout.mirrors, ignore_errors=True)
    host.arrive(layout.node, url)


def leave(layout: Layout, *, is_alone: bool) -> None:
    """Convert what the last worker and maintenance left, and register that. Raises StorageUnavailable.

    A host that is alone keeps its segments for its next start: no other host needs them meanwhile.
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
