"""The snapshot of a dataset as of now, from the manifest and the segments that are not converted."""

from collections.abc import Collection

from models import manifest
from models.values.dataset import Dataset
from storage.context import Layout
from storage.files.object_cache import Cache
from storage.read.contents import Snapshot as Snapshot
from storage.read.listing import list_candidates


def take_snapshot(
    layout: Layout,
    dataset: Dataset,
    start: int | None = None,
    end: int | None = None,
    columns: Collection[str] = (),
) -> Snapshot:
    """The files and segments with the dataset's events of `[start, end)`. Raises StorageUnavailable, HostMissing.

    Each event is in exactly one of them. Rows of a lookup dataset have no time, so the range does not apply to it.
    The files carry the statistics of `columns`, so that a query can skip some of them.
    """
    if dataset.is_lookup:
        start = end = None
    lacking = None if dataset.times_from is None else dataset.time_stored
    candidates = list_candidates(layout)
    found = manifest.read(candidates.names, dataset.id, start, end, columns, lacking)
    unconverted = candidates.without(found.converted, found.read_at)
    layout.converted.add(found.converted)
    is_bounded = start is not None or end is not None
    return Snapshot(
        root=layout.url or str(layout.root),
        schema=found.schema,
        time_column=dataset.time_stored,
        start=start,
        end=end,
        files=found.files,
        segments=unconverted.segments,
        columns=found.columns,
        cache=Cache.of(layout),
        has_files_outside=is_bounded and found.has_files and not found.files,
        times_from=dataset.times_from,
        gaps=unconverted.gaps,
    )
