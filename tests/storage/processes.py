"""Programs for the crash tests, run as `python -m tests.storage.processes <role> ...` and killed by them."""

import itertools
import os
import random
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from errors import StorageUnavailable
from models import base
from storage.context import Layout
from storage.upkeep.maintenance import Tasks, run
from storage.write import gathering
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.workbench import batch_of


def write(root: Path, acked: Path, first: int) -> None:
    """Append events with ids from `first` on, and note each id as soon as it is acknowledged."""
    # Segments of a moment have few records; gathering begins within it.
    gathering.RECORDS, gathering.LEAST_RECORDS = 4, 2
    storage = Storage(Layout(root), flush_seconds=0.2)
    numbers = itertools.count(first)
    log = os.open(acked, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    threads = [threading.Thread(target=_write, args=(storage, numbers, log)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _write(storage: Storage, numbers: "itertools.count[int]", log: int) -> None:
    app = storage.find("default", "app")
    while True:
        ids: list[object] = [next(numbers) for _ in range(random.choice([1, 1, 5, 50]))]
        other: list[object] = [random.choice([1, 1.5, "text", 2**60])] * len(ids)
        try:
            storage.append(app, batch_of(id=ids, other=other), Arrival(datetime.now(UTC)))
        except StorageUnavailable:
            continue
        os.write(log, "".join(f"{number}\n" for number in ids).encode())


def maintain(root: Path) -> None:
    """Maintenance with a short grace."""
    run(Tasks(Layout(root), grace_seconds=1.0, revive=lambda: None), threading.Event().wait)


if __name__ == "__main__":
    role, url, directory, *rest = sys.argv[1:]
    base.bind(url)
    if role == "write":
        write(Path(directory), Path(rest[0]), int(rest[1]))
    else:
        maintain(Path(directory))
