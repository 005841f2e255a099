"""The copies that this host keeps of other hosts' segments: removed once converted, converted here if a host is lost.

The row of the segment decides which of two copies is converted (models/segment.py): who comes second finds it there.
"""

import logging

from errors import StorageUnavailable
from models import segment_copy
from models.segment_copy import SegmentCopy
from storage.cluster import copies
from storage.context import Layout
from storage.upkeep.conversion import convert

logger = logging.getLogger(__name__)


def tend_copies(layout: Layout) -> int:
    """Convert the copies of lost hosts and remove what nobody needs; return how many. Raises StorageUnavailable.

    If a copy cannot be converted, the failure is logged, the others are still converted, and it stays.
    """
    # Before the rows are read: a row is there before the file.
    on_disk = copies.names(layout)
    held = segment_copy.held_by(layout.node)
    adopted = sum(_adopt(layout, each) for each in held if each.is_abandoned and not each.is_converted)
    gone = [each for each in held if each.is_converted]
    for each in gone:
        copies.remove(layout, each.owner, each.segment)
    segment_copy.end([each.segment for each in gone])
    strangers = set(on_disk) - {(each.owner, each.segment) for each in held}
    for owner, name in strangers:
        copies.remove(layout, owner, name)
    return adopted + len(gone) + len(strangers)


def _adopt(layout: Layout, copy: SegmentCopy) -> bool:
    """Convert the copy as its owner would. What its owner has converted meanwhile stays as it is."""
    try:
        found = copies.take_over(layout, copy.owner, copy.segment, copy.size)
        if found is None:
            _end_unbegun(layout, copy)
            return False
        is_ours = convert(layout, found, copy.owner)
    except StorageUnavailable:
        raise
    except Exception:
        logger.exception("the copy of segment %s of host %s cannot be converted", copy.segment, copy.owner)
        return False
    if is_ours:
        logger.warning("host %s is lost; its segment %s is converted from the copy here", copy.owner, copy.segment)
    return is_ours


def _end_unbegun(layout: Layout, copy: SegmentCopy) -> None:
    """Forget a copy of which there is not a byte; not as an empty one, whose segment would count as converted."""
    segment_copy.end([copy.segment])
    if copies.has_begun(layout, copy.owner, copy.segment):
        # Its owner lives after all, and saw the row before it went.
        segment_copy.begin(copy.segment, copy.owner, layout.node)
