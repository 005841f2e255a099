"""Rewriting: files whose columns have another form or a narrower type than today's become files of today, one by one.

Weir reads the old ones too, but other engines do not: a Parquet integer is no `double` to them, and a timestamp of
nanoseconds is none that they know. So the tables that are published to them wait for it (docs/lake.md).
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import polars as pl

from columns import POLARS_TYPES
from models import column, dataset, file, outdated_file
from models.column import Schema
from models.dataset import Dataset
from models.file import File
from storage.context import Layout
from storage.files import parquet
from storage.files.file_schema import FORMAT, file_types
from storage.files.parquet import Origin
from storage.files.store import open_store

logger = logging.getLogger(__name__)

# Of so many files the footers are read in one portion. At most one of them is rewritten.
MOST_LOOKED_AT: Final = 100


def rewrite(layout: Layout, *, now: datetime | None = None) -> int:
    """Look at some outdated files until one is rewritten; return how many were dealt with.

    Raises StorageUnavailable, OSError.
    """
    files = outdated_file.find(MOST_LOOKED_AT)
    targets = {each.id: each for each in dataset.find_many(sorted({each.dataset_id for each in files}))}
    schemas = {number: column.schema(number) for number in targets}
    for count, each in enumerate(files, start=1):
        # A dataset that is gone has taken its files along.
        target, schema = targets.get(each.dataset_id), schemas.get(each.dataset_id)
        if target is None or schema is None or _lacks_times(target, each):
            continue
        if not is_different(parquet.types(layout, each.path), schema):
            outdated_file.accept([each], FORMAT, schema.last_widening)
        elif _rewrite(layout, each, target, schema, now or datetime.now(UTC)):
            return count
    return len(files)


def _lacks_times(target: Dataset, file: File) -> bool:
    """Its rows are on their way to files of other hours (storage/upkeep/event_times.py)."""
    return target.times_from is not None and target.time_stored not in file.stats


def is_different(types: Mapping[str, pl.DataType], schema: Schema) -> bool:
    """Whether a file with columns of these types has one of another type than a file of today would."""
    today = file_types({each.stored: POLARS_TYPES[each.type] for each in schema.columns})
    return any(types[name] != today[name] for name in types.keys() & today.keys())


def _rewrite(layout: Layout, old: File, target: Dataset, schema: Schema, now: datetime) -> bool:
    origin = Origin(target, schema, old.body_bytes, old.level)
    new = parquet.write(layout, old.directory, parquet.read(layout, [old], schema), origin)
    if file.replace([old], [new], now):
        logger.debug("rewrote %s, whose columns were of other types", old.path)
        return True
    # Compaction, retention or deletion was faster.
    open_store(layout).remove([new.path])
    return False
