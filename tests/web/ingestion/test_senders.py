"""Counting what senders store: added up in memory, written together, kept while the database is away."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from errors import StorageUnavailable
from models.sender_count import Bucket, Sender, Sent
from web.ingestion import senders
from web.ingestion.senders import SenderCounter

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BUCKET = Bucket(7, Sender("api_key", "k:1"), datetime(2026, 1, 2, 3, 0, tzinfo=UTC))


class Table:
    """What was written; `is_away` for as long as the database cannot be reached."""

    def __init__(self) -> None:
        self.written: list[tuple[Bucket, Sent]] = []
        self.is_away = False

    def write(self, counted: Sequence[tuple[Bucket, Sent]]) -> None:
        if self.is_away:
            raise StorageUnavailable("away")
        self.written += counted


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def counter(table: Table) -> SenderCounter:
    return SenderCounter(table.write, every_seconds=3600)


def test_requests_of_one_sender_are_one_row(counter: SenderCounter, table: Table) -> None:
    later = AT + timedelta(seconds=1)
    for at, events, size in ((later, 2, 20), (AT, 3, 30)):
        counter.note(7, "api_key:k:1", at, events, size)

    counter.flush()
    counter.flush()

    assert table.written == [(BUCKET, Sent(later, 5, 50, 2))]


def test_what_could_not_be_written_is_added_to_what_comes(counter: SenderCounter, table: Table) -> None:
    table.is_away = True
    counter.note(7, "api_key:k:1", AT, 1, 1)
    counter.flush()
    table.is_away = False
    counter.note(7, "api_key:k:1", AT, 2, 2)

    counter.close()

    assert table.written == [(BUCKET, Sent(AT, 3, 3, 2))]


def test_memory_is_bounded_while_the_database_is_away(
    counter: SenderCounter, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senders, "MOST_PENDING", 2)
    for dataset_id in (1, 2, 3, 1):
        counter.note(dataset_id, "native:ann", AT, 1, 1)

    counter.flush()

    assert [(bucket.dataset_id, sent.events) for bucket, sent in table.written] == [(1, 2), (2, 1)]


def test_no_request_is_lost_between_threads(counter: SenderCounter, table: Table) -> None:
    def work() -> None:
        for _ in range(2000):
            counter.note(7, "api_key:k:1", AT, 1, 1)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counter.flush()
    counter.close()

    assert sum(sent.events for _, sent in table.written) == 8000
