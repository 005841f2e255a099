"""Files of before a dataset had a time column of its own become files of their rows' own hours, a few at a time."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from models import column, dataset, file
from models.dataset import Dataset
from models.file import File
from storage.context import Layout
from storage.files import parquet
from storage.files.parquet import Origin
from storage.files.store import open_store
from storage.upkeep.compaction import choose
from storage.upkeep.conversion import write_parts
from storage.write.event_time import complete_times_of

logger = logging.getLogger(__name__)

# Files that are looked at for one step. It takes those that fit into memory together.
MOST_FILES: Final = 256


def rewrite_times(layout: Layout, *, now: datetime | None = None) -> int:
    """Rewrite some files of one dataset; return how many there were. Raises StorageUnavailable, OSError."""
    for target in dataset.with_old_times():
        found = file.lacking(target.id, target.time_stored, MOST_FILES)
        if found:
            # The largest file alone may be larger than what is merged.
            return _rewrite(layout, target, choose(found) or found[:1], now or datetime.now(UTC))
    return 0


def _rewrite(layout: Layout, target: Dataset, inputs: Sequence[File], now: datetime) -> int:
    outputs = _write(layout, target, inputs)
    if file.replace(inputs, outputs, now):
        logger.debug("%d files of %s became %d of their rows' own hours", len(inputs), target.name, len(outputs))
        return len(inputs)
    # Retention or deletion was faster.
    open_store(layout).remove([each.path for each in outputs])
    return 0


def _write(layout: Layout, target: Dataset, inputs: Sequence[File]) -> list[File]:
    schema = column.schema(target.id)
    rows = complete_times_of(target, parquet.read(layout, inputs, schema))
    body_bytes = sum(each.body_bytes for each in inputs)
    return write_parts(layout, rows, Origin(target, schema, body_bytes, max(each.level for each in inputs)))
