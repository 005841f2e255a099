"""Requests that are repeated are stored once, whatever died in between: by their key, or by their body.

A process claims the request's receipt (a digest of what a repetition has too) in the database, stores the events
together with the claim's id in one WAL record, and then completes the claim. So everybody can decide about a claim that
is not completed: while its owner lives, the request is at work. When the owner is dead, a record has the id and the
events are stored, or no record has it and none ever will.
"""

import hashlib
import logging
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

from errors import IdempotencyKeyReused, Overloaded, StorageUnavailable
from models import host, idempotency_record, segment
from models.base import snapshot_transaction
from storage.context import Layout
from storage.durable_files import create_locked, is_locked
from storage.names import OWNER_SUFFIX, unique
from storage.wal.records import Buffer, decode
from storage.wal.segments import list_segments

logger = logging.getLogger(__name__)

# The claim of a request and its number of events, as the notes of a WAL record hold them.
_NOTE: Final = struct.Struct("<32sI")
# How long a repeated request waits for the first one, and how often it looks.
PATIENCE_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.05
# Segments that are converted away while they are searched are searched again.
MOST_SEARCHES: Final = 10


@dataclass(frozen=True, slots=True)
class RequestReceipt:
    """How a repetition of a request is recognised, and for how long.

    `digest`: of what makes a request a repetition; `body`: of the body that it must have then.
    """

    digest: bytes
    body: bytes
    kept_seconds: int = idempotency_record.KEPT_SECONDS


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """How many events the request stored, now or, for a duplicate, the first time."""

    events: int
    is_duplicate: bool


def receipt_of(*parts: str) -> bytes:
    """A digest of the parts, each with its length before it: tenant, dataset, credential and key, for one of a key."""
    return hashlib.sha256(b"".join(len(part.encode()).to_bytes(8) + part.encode() for part in parts)).digest()


def encode_record(claim_id: bytes, events: int) -> bytes:
    """The idempotency record of a request as a WAL record's notes hold it; nothing without a claim."""
    return _NOTE.pack(claim_id, events) if claim_id else b""


def decode_records(notes: Buffer) -> dict[bytes, int]:
    """The claims in a WAL record's notes, each with its number of events."""
    return dict(_NOTE.iter_unpack(notes))


class IdempotencyStore:
    """Stores requests once per receipt. One per process; safe for any number of threads or greenlets."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lock = Lock()
        self._name = ""
        self._fd = -1
        # The claims of requests that this process is storing now.
        self._at_work: set[str] = set()
        # Claims that could not be given up because the database was away, with their idempotency_record.
        self._unreleased: dict[str, bytes] = {}

    def store(self, receipt: RequestReceipt | None, store: Callable[[bytes], int]) -> StoredAnswer:
        """Call `store`, which returns the number of events, unless an earlier request of this receipt has stored them.

        `store` gets the id of the claim, and puts it into the `Arrival`. Without a receipt it is called in any case,
        and gets none. Raises IdempotencyKeyReused if the earlier request had another body, Overloaded if it is still at
        work, and whatever `store` raises; then the receipt is free again.
        """
        if receipt is None:
            return StoredAnswer(store(b""), is_duplicate=False)
        self._release_late()
        # The owner's name is unique for each claim, so that a claim changes hands at most once.
        owner = f"{self._layout.node}/{self._lock_name()}/{unique()}"
        claim_id = hashlib.sha256(owner.encode()).digest()
        self._at_work.add(owner)
        try:
            before = self._claim(receipt, owner, claim_id)
            if before is not None:
                return StoredAnswer(before, is_duplicate=True)
            return StoredAnswer(self._store(receipt, owner, partial(store, claim_id), claim_id), is_duplicate=False)
        finally:
            self._at_work.discard(owner)

    def close(self) -> None:
        """Let go of the lock that says this process lives."""
        if self._fd >= 0:
            _lock_path(self._layout, self._name).unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1

    def _claim(self, receipt: RequestReceipt, owner: str, claim_id: bytes) -> int | None:
        """The events of the request that had this receipt before; None if the receipt is ours now."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        digest = receipt.digest
        while (
            earlier := idempotency_record.claim(digest, receipt.body, owner, claim_id, receipt.kept_seconds)
        ) is not None:
            if earlier.body != receipt.body:
                raise IdempotencyKeyReused("this Idempotency-Key was used before with another body")
            if earlier.events is not None:
                return earlier.events
            if not self._is_at_work(earlier.owner):
                events = search(self._layout, digest, earlier.claim_id)
                if events is not None:
                    idempotency_record.complete({earlier.claim_id: events})
                    return events
                if idempotency_record.take_over(digest, earlier.owner, owner, claim_id):
                    return None
            elif time.monotonic() > deadline:
                raise Overloaded("the first request with this Idempotency-Key, or this body, is still being stored")
            else:
                time.sleep(LOOK_SECONDS)
        return None

    def _store(self, receipt: RequestReceipt, owner: str, store: Callable[[], int], claim_id: bytes) -> int:
        try:
            events = store()
        except BaseException:
            self._release(receipt.digest, owner)
            raise
        try:
            idempotency_record.complete({claim_id: events})
        except StorageUnavailable:
            # The events and the claim's id are durable; the conversion of their segment completes the claim.
            logger.warning("a claim waits for the conversion of its events to be completed")
        return events

    def _is_at_work(self, owner: str) -> bool:
        node, name, _ = owner.split("/")
        if name == self._name:
            return owner in self._at_work
        if node != self._layout.node:
            # This host cannot decide about the claims of another one. If that host has left, or was given up, every
            # event that it stored is in the manifest.
            return all(each.name != node or each.is_present for each in host.list_all())
        return is_locked(_lock_path(self._layout, name))

    def _lock_name(self) -> str:
        """The name of the file that is locked as long as this process lives."""
        with self._lock:
            if self._fd < 0:
                name = unique()
                self._fd = create_locked(self._layout.staging, name, OWNER_SUFFIX)
                self._name = name
            return self._name

    def _release(self, receipt: bytes, owner: str) -> None:
        try:
            idempotency_record.release(receipt, owner)
        except StorageUnavailable:
            self._unreleased[owner] = receipt

    def _release_late(self) -> None:
        for owner, receipt in list(self._unreleased.items()):
            idempotency_record.release(receipt, owner)
            self._unreleased.pop(owner, None)


def search(layout: Layout, receipt: bytes, claim_id: bytes) -> int | None:
    """How many events are stored for the claim, whose owner is dead; None: none. Raises StorageUnavailable."""
    for _ in range(MOST_SEARCHES):
        # As for queries: staging first, then the database, so that a conversion in between is seen on one side.
        segments = list_segments(layout.staging)
        with snapshot_transaction():
            earlier = idempotency_record.find(receipt)
            converted = segment.converted([each.name for each in segments])
        if earlier is not None and earlier.events is not None:
            return earlier.events
        try:
            for ref in segments:
                if ref.name not in converted:
                    for notes in _notes(Path(ref.path), ref.name):
                        if claim_id in notes:
                            return notes[claim_id]
            return None
        except FileNotFoundError:
            continue
    raise StorageUnavailable("segments were converted faster than they could be searched")


def _notes(path: Path, name: str) -> Iterator[dict[bytes, int]]:
    for record in decode(path.read_bytes(), name):
        yield decode_records(record.notes)


def _lock_path(layout: Layout, name: str) -> Path:
    return layout.staging / (name + OWNER_SUFFIX)
