"""What the catalog says of a table: its published metadata, or that of a table that has no files yet."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models import file, lake
from models.dataset import Dataset
from storage.context import Layout
from storage.lake.metadata_files import base_location
from storage.lake.publication import define
from storage.lake.table_metadata import AS_OF, document, next_schemas, rfc3339


@dataclass(frozen=True, slots=True)
class Loaded:
    """The metadata of a table, and the metadata file that has it, if it was published. The caller may change it."""

    metadata: dict[str, Any]
    location: str | None

    def keep_current_snapshot(self) -> None:
        """Leave out what is there for time travel alone."""
        current = self.metadata.get("current-snapshot-id")
        self.metadata["snapshots"] = [each for each in self.metadata["snapshots"] if each["snapshot-id"] == current]


def load(layout: Layout, target: Dataset, now: datetime) -> Loaded | None:
    """The table as it is published; None: it has files and is not published yet. Raises StorageUnavailable."""
    # Asked first, so that the table is at least as new as the answer says.
    is_current = lake.is_current(target.id)
    table = lake.find(target.id)
    if table is not None:
        metadata = json.loads(table.metadata)
        if is_current:
            metadata["properties"][AS_OF] = rfc3339(now)
        return Loaded(metadata, f"{base_location(layout)}/{table.metadata_path}")
    if file.is_any_live(target.id):
        return None
    definition = define(layout, target)
    return Loaded(document(definition, next_schemas((), definition.schema), (), now), None)
