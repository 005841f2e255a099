"""Segments and manifest against a list in memory: whatever is done in whatever order, queries answer as the list."""

import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from models import base, dataset
from storage.context import Layout
from storage.read.dataset_stats import dataset_stats
from storage.read.scan import SnapshotExpired, scan
from storage.read.snapshot import Snapshot, take_snapshot
from storage.read.unconverted_rows import UnconvertedRows
from storage.times import to_us
from storage.upkeep import compaction as compaction
from storage.upkeep.compaction import compact, remove_replaced
from storage.upkeep.conversion import convert_all, remove_converted
from storage.upkeep.sweep import sweep
from storage.write import gathering
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.workbench import NOON, batch_of

pytestmark = pytest.mark.crash

VALUES = st.one_of(
    st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans(), st.text(max_size=3)
)
MOMENTS = st.integers(0, 4).map(lambda number: NOON + number * timedelta(minutes=25))
WORKERS = st.sampled_from([0, 1])


@dataclass(frozen=True)
class Event:
    number: int
    at: datetime
    name: str
    value: object


class Machine(RuleBasedStateMachine):
    """Two workers and maintenance on one dataset, which may be deleted and created again."""

    def __init__(self) -> None:
        super().__init__()
        base.database.execute_sql(
            "TRUNCATE dataset, dataset_column, dataset_total, file, segment RESTART IDENTITY CASCADE"
        )
        self.root = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.layout = Layout(self.root)
        self.workers = [Storage(self.layout, flush_seconds=3600) for _ in range(2)]
        self.app = dataset.create("default", "app")
        self.tails = UnconvertedRows()
        self.events: list[Event] = []
        self.sent = 0
        self.held: list[tuple[Snapshot, list[Event]]] = []

    def teardown(self) -> None:
        for worker in self.workers:
            worker.close()
        shutil.rmtree(self.root)

    @rule(worker=WORKERS, at=MOMENTS, name=st.sampled_from(["x", "y"]), values=st.lists(VALUES, min_size=1, max_size=3))
    def append(self, worker: int, at: datetime, name: str, values: list[object]) -> None:
        for value in values:
            event = Event(self.sent, at, name, value)
            self.sent += 1
            batch = batch_of(**{"number": [event.number], name: [value]})
            self.workers[worker].append(self.workers[worker].find("default", "app"), batch, Arrival(at))
            self.events.append(event)

    @rule(worker=WORKERS)
    def restart(self, worker: int) -> None:
        self.workers[worker].close()
        self.workers[worker] = Storage(self.layout, flush_seconds=3600)

    @rule()
    def convert(self) -> None:
        convert_all(self.layout)

    @rule()
    def compact(self) -> None:
        compact(self.layout)

    @rule()
    def sweep(self) -> None:
        sweep(self.layout, -1)

    @rule()
    def end_grace(self) -> None:
        remove_converted(self.layout, -1)
        remove_replaced(self.layout, -1)

    @rule(worker=WORKERS)
    def delete_and_create(self, worker: int) -> None:
        self.workers[worker].delete("default", "app")
        self.app = dataset.create("default", "app")
        self.events = []

    @rule()
    def hold(self) -> None:
        self.held.append((take_snapshot(self.layout, self.app), list(self.events)))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def read_held(self, data: st.DataObject) -> None:
        """An old snapshot answers as of its moment or says that it is too old."""
        snapshot, events = data.draw(st.sampled_from(self.held), label="snapshot")
        try:
            rows = scan(snapshot, self.tails).collect()
        except SnapshotExpired:
            self.held.remove((snapshot, events))
        else:
            self.compare(rows, events)

    @rule(start=st.none() | MOMENTS, end=st.none() | MOMENTS)
    def query_range(self, start: datetime | None, end: datetime | None) -> None:
        bounds = [None if moment is None else to_us(moment) * 1000 for moment in (start, end)]
        rows = scan(take_snapshot(self.layout, self.app, *bounds), self.tails).collect()
        inside = [e for e in self.events if (start is None or e.at >= start) and (end is None or e.at < end)]
        self.compare(rows, inside)

    @invariant()
    def query_sees_every_event_once(self) -> None:
        self.compare(scan(take_snapshot(self.layout, self.app), self.tails).collect(), self.events)

    @invariant()
    def account_is_exact(self) -> None:
        found = dataset_stats(self.layout, self.app)
        assert found.events == found.lifetime_events == len(self.events)

    def compare(self, rows: pl.DataFrame, events: list[Event]) -> None:
        if not events:
            assert rows.height == 0
            return
        names = [name for name in rows.columns if name.partition("_")[0] in ("x", "y")]
        found = [
            (row["number"], row["p_timestamp"], *((n[0], row[n]) for n in names if row[n] is not None))
            for row in rows.rows(named=True)
        ]
        assert Counter(found) == Counter((e.number, e.at, (e.name, e.value)) for e in events)


@pytest.mark.usefixtures("database")
def test_storage_answers_as_a_list_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FAN_IN", 2)
    monkeypatch.setattr(gathering, "RECORDS", 2)
    monkeypatch.setattr(gathering, "LEAST_RECORDS", 1)
    base.database.execute_sql("SET synchronous_commit = off")

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
