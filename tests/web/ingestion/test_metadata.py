"""What is said of metrics is written once, when it is new, and outlives a database that is away."""

from threading import Event
from typing import Any

from metric_columns import MetricMetadata
from web.ingestion import metadata
from web.ingestion.metadata import MetadataRecorder

UP, DOWN = MetricMetadata("gauge", "Up."), MetricMetadata("gauge", "Down.")


class Table:
    """Keeps what was written; fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.writes: list[tuple[int, dict[str, MetricMetadata]]] = []
        self.failures = failures
        self.written = Event()

    def write(self, dataset_id: int, said: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("away")
        self.writes.append((dataset_id, dict(said)))
        self.written.set()


def recorder(table: Table) -> MetadataRecorder:
    """One whose thread does nothing within the test."""
    return MetadataRecorder(table.write, every_seconds=3600)


def test_what_is_known_is_not_written_again() -> None:
    table = Table()
    noted = recorder(table)

    for said in ({"up": UP, "b": UP}, {"up": UP}, {"up": DOWN}, {"up": DOWN}):
        noted.note(1, said)
        noted.flush()
    noted.note(2, {"up": DOWN})
    noted.flush()

    assert table.writes == [(1, {"up": UP, "b": UP}), (1, {"up": DOWN}), (2, {"up": DOWN})]


def test_what_could_not_be_written_is_tried_again_unless_something_newer_came() -> None:
    table = Table(failures=1)
    noted = recorder(table)

    noted.note(1, {"up": UP, "b": UP})
    noted.flush()
    noted.note(1, {"up": DOWN})
    noted.flush()

    assert table.writes == [(1, {"up": DOWN, "b": UP})]


def test_a_thread_writes_what_was_noted() -> None:
    table = Table()
    noted = MetadataRecorder(table.write, every_seconds=0.01)

    noted.note(1, {"up": UP})

    assert table.written.wait(10)
    noted.close()


def test_the_rest_is_written_at_the_end() -> None:
    table = Table()
    noted = recorder(table)

    noted.note(1, {"up": UP})
    noted.close()

    assert table.writes == [(1, {"up": UP})]


def test_more_than_is_remembered_is_written_again(monkeypatch: Any) -> None:
    monkeypatch.setattr(metadata, "MOST_KNOWN", 2)
    table = Table()
    noted = recorder(table)

    for said in ({"a": UP, "b": UP}, {"c": UP}, {"a": UP}):
        noted.note(1, said)
        noted.flush()

    assert [sorted(said) for _, said in table.writes] == [["a", "b"], ["c"], ["a"]]
