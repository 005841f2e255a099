"""What becomes of Weir's own lines and numbers when storage takes them, refuses them, or is broken."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from columns import Batch
from errors import Overloaded, SchemaMismatch
from metrics.exposition import Sample
from observing.recorder import MOST_LINES, Recorder, SelfIngestTarget

LINE = {"time": "2026-01-01T12:00:00+00:00", "level": "info", "message": "a line"}
SAMPLES = [Sample("weir_workers", {}, 2.0)]
RARELY, ALWAYS = 3600.0, 0.0


class Stored:
    """In place of storage: keeps what it is given unless told to fail. `counts` is what the recorder counted."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.metrics: list[Any] = []
        self.counts: Counter[str] = Counter()
        self.error: Exception | None = None

    def store(self, batch: Batch) -> None:
        if self.error is not None:
            raise self.error
        columns = {each.name: values.to_list() for each, values in zip(batch.fields, batch.columns, strict=True)}
        self.messages += columns.get("message", [])
        self.metrics += columns.get("metric", [])

    def count(self, outcome: str, events: int) -> None:
        self.counts[outcome] += events


@pytest.fixture
def stored() -> Stored:
    return Stored()


@pytest.fixture
def make(stored: Stored, tmp_path: Path) -> Callable[..., Recorder]:
    def made(seconds: float = RARELY) -> Recorder:
        return Recorder(
            SelfIngestTarget(("default", "weir"), seconds), stored.store, lambda: SAMPLES, stored.count, tmp_path / "l"
        )

    return made


def test_line_is_stored_once(make: Callable[..., Recorder], stored: Stored):
    recorder = make()
    recorder.put(LINE)

    recorder.round()
    recorder.round()

    assert stored.messages == ["a line"]
    assert stored.counts == {"stored": 1, "dropped": 0}


def test_lines_wait_while_storage_refuses_and_those_too_many_are_counted(make: Callable[..., Recorder], stored: Stored):
    recorder = make()
    stored.error = Overloaded("full")
    for _ in range(MOST_LINES + 5):
        recorder.put(LINE)
    with pytest.raises(Overloaded):
        recorder.round()

    stored.error = None
    recorder.round()

    assert len(stored.messages) == MOST_LINES
    assert stored.counts == {"stored": MOST_LINES, "dropped": 5}


@pytest.mark.parametrize("error", [SchemaMismatch("no such column"), ValueError("a defect")], ids=["refused", "broken"])
def test_lines_that_can_never_be_stored_make_room(make: Callable[..., Recorder], stored: Stored, error: Exception):
    recorder = make()
    recorder.put(LINE)
    stored.error = error
    recorder.round()

    stored.error = None
    recorder.round()

    assert stored.messages == []
    assert stored.counts == {"stored": 0, "dropped": 1} or stored.counts == {"dropped": 1}


def test_numbers_are_stored_by_one_process_of_a_host(make: Callable[..., Recorder], stored: Stored):
    first, second = make(ALWAYS), make(ALWAYS)

    first.round()
    second.round()

    assert stored.metrics == ["weir_workers"]

    first.close()
    second.round()

    assert stored.metrics == ["weir_workers"] * 2
    second.close()


def test_numbers_that_are_refused_are_dropped(make: Callable[..., Recorder], stored: Stored):
    recorder = make(ALWAYS)
    stored.error = Overloaded("full")

    with pytest.raises(Overloaded):
        recorder.round()

    assert stored.counts["dropped"] == 1
    recorder.close()
