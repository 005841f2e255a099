"""PendingRequest requests that are stored together: what is wrong with one of them is that one's alone."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from gevent.event import Event
from gevent.lock import Semaphore

from errors import InvalidEvent, InvalidJSON, TooManyColumns
from ingest.json import batch_decoding, decoding
from storage.write.arrival import Arrival
from web.ingestion import batcher
from web.ingestion.batcher import BUILD_SECONDS, LEAST_BYTES, MOST_BYTES, Batcher, PendingRequest, affordable_bytes

BATCH_SIZE = 64


class Recorded:
    """Takes what a batch stores, and counts the times."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.times = 0

    def append_shared(self, target: Any, batch: Any, shares: Any) -> None:
        self.times += 1
        assert sum(share.rows for share in shares) == batch.height
        self.values += batch.columns[0].to_list() if batch.columns else []

    def append(self, target: Any, batch: Any, arrival: Arrival) -> None:
        self.append_shared(target, batch, [SimpleNamespace(rows=batch.height)])


def batcher_into(recorded: Any) -> Batcher:
    return Batcher(
        recorded,
        decode_together=lambda bodies: batch_decoding.decode(bodies, 2),
        decode_alone=lambda body: decoding.decode(body, max_columns=2),
    )


def stored(bodies: list[bytes]) -> tuple[Recorded, list[PendingRequest]]:
    recorded: Any = Recorded()
    target: Any = SimpleNamespace(id=1)
    batch = [PendingRequest(target, body, Arrival(datetime.now(UTC))) for body in bodies]
    batcher_into(recorded)._store(batch)
    return recorded, batch


def test_a_batch_is_stored_at_once_and_each_knows_its_number_of_events():
    recorded, batch = stored([b'{"n":0}', b'[{"n":1},{"n":2}]', b"[]", b'{"n":3}\n{"n":4}'])

    assert (recorded.times, recorded.values) == (1, [0, 1, 2, 3, 4])
    assert [(each.events, each.error) for each in batch] == [(1, None), (2, None), (0, None), (2, None)]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(b'{"n":', InvalidJSON, id="no JSON"),
        pytest.param(b"[1]", InvalidEvent, id="no object"),
        pytest.param(b'{"a":1,"b":2,"c":3}', TooManyColumns, id="too many fields"),
    ],
)
@pytest.mark.parametrize("places", [{0}, {17}, {63}, {5, 40}])
def test_one_that_is_refused_takes_no_other_along_and_costs_them_little(body, error, places):
    bodies = [body if number in places else b'{"n":%d}' % number for number in range(BATCH_SIZE)]

    recorded, batch = stored(bodies)

    assert recorded.values == [number for number in range(BATCH_SIZE) if number not in places]
    assert [type(each.error) for each in batch] == [
        error if number in places else type(None) for number in range(BATCH_SIZE)
    ]
    assert all(each.answered.is_set() for each in batch)
    assert recorded.times <= 6 * len(places)


def test_an_integer_that_the_batch_would_round_is_stored_as_it_was_sent():
    recorded, batch = stored([b'{"n":1}', b'{"m":18446744073709551616}'])

    assert [each.error for each in batch] == [None, None]
    assert recorded.values == [1, "18446744073709551616"]


class Greenlet:
    """A thread, as gevent's patches have it."""

    def __init__(self, target: Any, **_: Any) -> None:
        self._target = target

    def start(self) -> None:
        gevent.spawn(self._target)


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    # However busy the machine is: not what is tested here.
    monkeypatch.setattr(batcher, "MOST_SECONDS", 60)
    monkeypatch.setattr(batcher, "threading", SimpleNamespace(Event=Event, Lock=Semaphore, Thread=Greenlet))
    # A machine with more to do than this may be away for longer, and who waits must not notice.
    monkeypatch.setattr(batcher, "MOST_SECONDS", 60.0)


def stored_by_greenlets(requests: Sequence[tuple[int, bytes]]) -> tuple[Recorded, list[int]]:
    """What is stored, and the answers, when one after the other the requests, each of a dataset, come to be ready."""
    recorded: Any = Recorded()
    made = batcher_into(recorded)

    def send(turns: int, dataset_id: int, body: bytes) -> int:
        for _ in range(turns):
            gevent.sleep(0)
        target: Any = SimpleNamespace(id=dataset_id)
        return made.store(PendingRequest(target, body, Arrival(datetime.now(UTC)), answered=Event()))

    senders = [gevent.spawn(send, 3 * number, *request) for number, request in enumerate(requests)]
    return recorded, [sender.get() for sender in senders]


@pytest.mark.usefixtures("patched")
def test_all_that_the_worker_has_received_is_stored_at_once():
    recorded, answers = stored_by_greenlets([(1, b'{"n":%d}' % number) for number in range(20)])

    assert (recorded.times, recorded.values) == (1, list(range(20)))
    assert answers == [1] * 20


@pytest.mark.usefixtures("patched")
def test_each_dataset_has_a_batch_of_its_own():
    recorded, answers = stored_by_greenlets([(number % 3, b'[{"n":%d}]' % number) for number in range(9)])

    assert (recorded.times, recorded.values) == (3, [0, 3, 6, 1, 4, 7, 2, 5, 8])
    assert answers == [1] * 9


@pytest.mark.usefixtures("patched")
def test_a_batch_has_a_limit_in_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batcher, "LEAST_BYTES", 21)
    monkeypatch.setattr(batcher, "MOST_BYTES", 21)

    recorded, answers = stored_by_greenlets([(1, b'{"n":%d}' % number) for number in (0, 1, 2**60, 3, 4)])

    assert (recorded.times, recorded.values) == (3, [0, 1, 3, 2**60, 4])
    assert answers == [1] * 5


@pytest.mark.parametrize(
    ("size", "seconds", "affordable"),
    [
        pytest.param(200_000, BUILD_SECONDS / 2, 400_000, id="fast"),
        pytest.param(200_000, BUILD_SECONDS * 2, 100_000, id="slow"),
        pytest.param(100, BUILD_SECONDS, LEAST_BYTES, id="not worth a batch"),
        pytest.param(500_000, 0.0, MOST_BYTES, id="not measurable"),
    ],
)
def test_a_batch_is_as_large_as_the_one_before_was_fast(size, seconds, affordable):
    assert affordable_bytes(size, seconds) == affordable


@pytest.mark.usefixtures("patched")
def test_what_takes_long_is_built_in_small_batches(monkeypatch: pytest.MonkeyPatch):
    """Each tick of the clock is a second, of which the first batch takes one."""
    monkeypatch.setattr(batcher, "process_time", iter(range(100)).__next__)
    body = b'[{"n":1}%s]' % (b" " * (LEAST_BYTES // 3))

    recorded, answers = stored_by_greenlets([(1, body)] * 8)

    assert (recorded.times, sum(answers)) == (4, 8)
