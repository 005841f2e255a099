"""A request that is repeated with its Idempotency-Key is stored once (api.md section 4). So is a repeated body."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from errors import IdempotencyKeyReused, Overloaded, StorageUnavailable
from models import base, host, idempotency_record
from storage.durable_files import create_locked
from storage.upkeep.conversion import convert_all
from storage.write import idempotency
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from storage.write.idempotency import RequestReceipt, StoredAnswer, decode_records, encode_record, receipt_of
from tests.storage.workbench import NOON, Bench, batch_of

ROOT = Path(__file__).parents[3]
KEY = receipt_of("default", "app", "credential", "key")
BODY = b'{"x": 1}'
BODY_DIGEST = hashlib.sha256(BODY).digest()
RECEIPT = RequestReceipt(KEY, BODY_DIGEST)
# What a process that died called its claim.
CLAIM = receipt_of("a claim")


def send(bench: Bench, storage: Storage | None = None, receipt: RequestReceipt = RECEIPT) -> StoredAnswer:
    """One request with a key, as the pipeline handles it."""
    used = storage or bench.storage

    def store(claim_id: bytes) -> int:
        used.append(bench.app, batch_of(x=[1, 2]), Arrival(NOON, claim_id=claim_id))
        return 2

    return used.once.store(receipt, store)


def test_second_request_is_answered_as_the_first_and_stored_once(bench: Bench) -> None:
    assert send(bench) == StoredAnswer(2, is_duplicate=False)
    assert send(bench) == StoredAnswer(2, is_duplicate=True)
    assert bench.rows().height == 2


def test_other_worker_answers_the_same(bench: Bench) -> None:
    send(bench)
    other = Storage(bench.layout)

    assert send(bench, other) == StoredAnswer(2, is_duplicate=True)
    other.close()


def test_key_with_another_body_is_refused(bench: Bench) -> None:
    send(bench)

    with pytest.raises(IdempotencyKeyReused):
        send(bench, receipt=RequestReceipt(KEY, b"another"))
    assert bench.rows().height == 2


def test_other_keys_are_other_requests(bench: Bench) -> None:
    send(bench)

    assert not send(bench, receipt=RequestReceipt(receipt_of("another"), BODY_DIGEST)).is_duplicate
    assert bench.rows().height == 4


def test_parts_of_a_receipt_do_not_run_into_each_other() -> None:
    assert receipt_of("a", "bc") != receipt_of("ab", "c")


def test_notes_are_read_back() -> None:
    other = receipt_of("x")

    assert decode_records(encode_record(KEY, 3) + encode_record(b"", 5) + encode_record(other, 7)) == {KEY: 3, other: 7}


def test_request_that_failed_leaves_the_key_free(bench: Bench) -> None:
    def fail(_: bytes) -> int:
        raise StorageUnavailable("disk")

    with pytest.raises(StorageUnavailable):
        bench.storage.once.store(RECEIPT, fail)

    assert send(bench) == StoredAnswer(2, is_duplicate=False)


def test_request_without_events_is_remembered_too(bench: Bench) -> None:
    answers = [bench.storage.once.store(RECEIPT, lambda _: 0) for _ in range(2)]

    assert answers == [StoredAnswer(0, is_duplicate=False), StoredAnswer(0, is_duplicate=True)]


def test_key_is_forgotten_after_a_day(bench: Bench) -> None:
    send(bench)
    base.database.execute_sql("UPDATE receipt SET created_at = now() - interval '25 hours'")

    assert not send(bench, receipt=RequestReceipt(KEY, b"another")).is_duplicate
    base.database.execute_sql("UPDATE receipt SET created_at = now() - interval '25 hours'")
    assert idempotency_record.expire() == 1


@pytest.mark.parametrize("convert", [False, True], ids=["unconverted", "converted"])
def test_answer_that_was_lost_after_the_events_were_durable_is_given_again(bench: Bench, convert: bool) -> None:
    """kill -9 between commit and answer: the claim in the record decides."""
    claim_by_a_dead_process(bench)
    bench.storage.append(bench.app, batch_of(x=[1, 2]), Arrival(NOON, claim_id=CLAIM))
    bench.seal()
    if convert:
        convert_all(bench.layout)

    assert send(bench) == StoredAnswer(2, is_duplicate=True)
    assert bench.rows().height == 2


def test_claim_of_a_process_that_died_before_it_stored_anything_is_taken_over(bench: Bench) -> None:
    claim_by_a_dead_process(bench)

    assert send(bench) == StoredAnswer(2, is_duplicate=False)
    assert bench.rows().height == 2


def claim_by_a_dead_process(bench: Bench) -> None:
    assert idempotency_record.claim(KEY, BODY_DIGEST, f"{bench.layout.node}/01DEAD/01X", CLAIM) is None


def test_claim_of_a_living_process_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "PATIENCE_SECONDS", 0.0)
    fd = create_locked(bench.layout.staging, "01ALIVE", ".owner")
    idempotency_record.claim(KEY, BODY_DIGEST, f"{bench.layout.node}/01ALIVE/01X", CLAIM)

    with pytest.raises(Overloaded):
        send(bench)
    os.close(fd)

    assert send(bench) == StoredAnswer(2, is_duplicate=False)


def test_claim_of_another_host_is_waited_for_until_that_host_has_left_or_was_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that host knows whether its process lives; once it is gone, what it stored is known here."""
    monkeypatch.setattr(idempotency, "PATIENCE_SECONDS", 0.0)
    host.arrive("other", "http://10.0.0.2:8000")
    idempotency_record.claim(KEY, BODY_DIGEST, "other/01DEAD/01X", CLAIM)

    with pytest.raises(Overloaded):
        send(bench)
    host.stop("other", has_nothing_left=True)

    assert send(bench) == StoredAnswer(2, is_duplicate=False)


def test_claim_that_could_not_be_given_up_is_given_up_later(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(idempotency_record, "release", fail)
        with pytest.raises(StorageUnavailable):
            bench.storage.once.store(RECEIPT, fail)
    other = Storage(bench.layout)

    assert send(bench) == StoredAnswer(2, is_duplicate=False)
    assert send(bench, other) == StoredAnswer(2, is_duplicate=True)
    other.close()


def test_receipt_whose_completion_failed_is_still_good(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(idempotency_record, "complete", fail)
        assert send(bench) == StoredAnswer(2, is_duplicate=False)

    assert send(bench) == StoredAnswer(2, is_duplicate=True)


def test_requests_with_one_key_at_the_same_moment_are_stored_once(bench: Bench, database_url: str) -> None:
    storages = [bench.storage, Storage(bench.layout)]
    answers: list[StoredAnswer] = []
    threads = [
        threading.Thread(target=lambda number=number: answers.append(send(bench, storages[number % 2])))
        for number in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    storages[1].close()

    assert sorted(each.is_duplicate for each in answers) == [False] + [True] * 7
    assert bench.rows().height == 2


MINUTE = RequestReceipt(KEY, BODY_DIGEST, kept_seconds=60)


def let_two_minutes_pass() -> None:
    base.database.execute_sql("UPDATE receipt SET created_at = created_at - interval '2 minutes'")


def test_receipt_is_kept_as_long_as_it_says(bench: Bench) -> None:
    answers = [send(bench, receipt=MINUTE), send(bench, receipt=MINUTE)]
    let_two_minutes_pass()
    answers += [send(bench, receipt=MINUTE), send(bench, receipt=MINUTE)]

    assert [each.is_duplicate for each in answers] == [False, True, False, True]
    assert bench.rows().height == 4


def test_claim_that_is_still_at_work_does_not_expire(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the window may be the repetition of a request that takes longer than that."""
    monkeypatch.setattr(idempotency, "PATIENCE_SECONDS", 0.0)
    fd = create_locked(bench.layout.staging, "01ALIVE", ".owner")
    idempotency_record.claim(KEY, BODY_DIGEST, f"{bench.layout.node}/01ALIVE/01X", CLAIM)
    let_two_minutes_pass()

    with pytest.raises(Overloaded):
        send(bench, receipt=MINUTE)
    os.close(fd)


@pytest.mark.parametrize("convert", [False, True], ids=["unconverted", "converted"])
def test_events_of_an_expired_claim_are_not_taken_for_those_of_the_next_one(bench: Bench, convert: bool) -> None:
    """Its process dies before it has stored anything, while the events of the claim before are in a segment."""
    send(bench, receipt=MINUTE)
    let_two_minutes_pass()
    owner = f"{bench.layout.node}/01DEAD/01X"
    assert idempotency_record.claim(KEY, BODY_DIGEST, owner, CLAIM, MINUTE.kept_seconds) is None
    bench.seal()
    if convert:
        convert_all(bench.layout)

    assert send(bench, receipt=MINUTE) == StoredAnswer(2, is_duplicate=False)
    assert bench.rows().height == 4


PROGRAM = """
import os, signal, sys
from pathlib import Path
from models import base, dataset
from storage.write.engine import Storage
from storage.context import Layout
from tests.storage.write import test_idempotency as test
base.bind(sys.argv[1])
class Bench:
    storage = Storage(Layout(Path(sys.argv[2])))
    app = storage.find("default", "app")
step = sys.argv[3]
real = getattr(os, step)
def die(*arguments):
    if step == "fdatasync": real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
Bench.storage._schema(Bench.app)
Bench.storage.once._lock_name()
setattr(os, step, die)
test.send(Bench)
"""


@pytest.mark.parametrize(("step", "stored"), [("fdatasync", True), ("pwritev", False)], ids=["after", "before"])
def test_process_killed_around_its_commit_leaves_exactly_one_copy(
    bench: Bench, database_url: str, step: str, stored: bool
) -> None:
    arguments = [sys.executable, "-c", PROGRAM, database_url, str(bench.layout.root), step]
    killed = subprocess.run(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert killed.returncode == -signal.SIGKILL

    assert send(bench) == StoredAnswer(2, is_duplicate=stored)
    assert bench.rows().height == 2
    bench.convert()
    assert send(bench) == StoredAnswer(2, is_duplicate=True)
