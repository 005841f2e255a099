"""The program whose system calls the sync test records: `python -m tests.storage.traced <url> <directory>`."""

import os
import sys
from pathlib import Path

from models import base, dataset
from storage.context import Layout
from storage.upkeep.compaction import remove_replaced
from storage.upkeep.conversion import convert_all, remove_converted
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.workbench import NOON, batch_of


def mark(text: str) -> None:
    """A line in the trace."""
    os.write(1, f"MARK {text}\n".encode())


if __name__ == "__main__":
    base.bind(sys.argv[1])
    layout = Layout(Path(sys.argv[2]))
    with base.connection():
        storage = Storage(layout)
        storage.append(storage.find("default", "app"), batch_of(x=[1]), Arrival(NOON))
        mark("acknowledged")
        storage.close()
        convert_all(layout)
        mark("converted")
        remove_converted(layout, -1)
        dataset.delete("default", "app")
        remove_replaced(layout, -1)
        mark("removed")
