"""The other hosts' unconverted segments, mirrored here: read by queries as if they were this host's own.

A mirror is a file with the first bytes of a peer's segment. Segments only grow, so it is never wrong, only short, and
each query asks the peer for what has been added since. Any number of processes write one mirror at once: all of them
write the same bytes to the same places. docs/decisions/several-hosts.md has the protocol and why it loses nothing.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from errors import HostMissing
from models import host
from models.host import Host
from storage.cluster.peer_client import Offer, Offered, PeerClient, Signer, Unreachable
from storage.context import Gap, Listing
from storage.names import SEGMENT_SUFFIX, directory
from storage.wal.segments import SegmentRef, list_segments

logger = logging.getLogger(__name__)

PIECE_BYTES: Final = 1024 * 1024
# So long a host that was seen lately is waited for: an orderly stop, or a new start, takes about that.
RESTART_SECONDS: Final = 3.0
LOOK_SECONDS: Final = 0.2
# A host that gives no sign of life and did not answer is not asked again for so long by who can do without it: each
# attempt at an address where nothing is takes seconds. A sign of life has it asked at once.
SILENT_SECONDS: Final = 10.0
# A mirror may be removed between being counted and being continued.
MOST_ATTEMPTS: Final = 3
NAME: Final = re.compile(r"[0-9A-Z]{26}")


# By a host's name, the name of the segment after which also converted ones are wanted; None: no converted one.
After = Callable[[str], str | None]


def only_unconverted(node: str) -> None:
    """The `After` of queries, which read what is converted from the manifest's files."""


class MirrorLost(Exception):
    """A mirror that the peer was told of is gone: ask again, for all of it."""


@dataclass(frozen=True, slots=True)
class _Absence:
    host: Host
    reason: str


class Peers:
    """The other hosts. `node` names this one, `mirrors` is the directory of the mirrors."""

    def __init__(self, node: str, mirrors: Path, signer: Signer) -> None:
        self._node = node
        self._mirrors = mirrors
        self._client = PeerClient(signer)
        # When hosts did not answer, by their names; replaced and read by any number of threads.
        self._silent_since: dict[str, float] = {}

    def listing(self) -> Listing:
        """What the other hosts have had unconverted at some moment after the call.

        Raises HostMissing when one of them cannot be asked, StorageUnavailable.
        """
        begun_at = host.clock()
        found, missing = self._wait_for(self._others)
        if missing:
            raise _missing(missing)
        return Listing(found, begun_at)

    def listing_with_gaps(self) -> Listing:
        """The same of the hosts that can be asked; the others are its gaps. Raises StorageUnavailable."""
        begun_at = host.clock()
        silent = [each for each in self._others() if self._is_silent(each)]
        names = {each.name for each in silent}
        found, missing = self._wait_for(lambda: [each for each in self._others() if each.name not in names])
        for each in missing:
            self._silent_since[each.host.name] = time.monotonic()
        lost = [*silent, *(each.host for each in missing)]
        return Listing(found, begun_at, tuple(Gap(each.name, each.seen_at) for each in lost))

    def _is_silent(self, peer: Host) -> bool:
        since = self._silent_since.get(peer.name)
        return not peer.is_living and since is not None and time.monotonic() - since < SILENT_SECONDS

    def _wait_for(self, wanted: Callable[[], Sequence[Host]]) -> tuple[tuple[SegmentRef, ...], "Sequence[_Absence]"]:
        """What the wanted hosts have, and which of them cannot be asked, also after a start in order would be over."""
        deadline = time.monotonic() + RESTART_SECONDS
        while True:
            outcomes = self._ask_all(wanted())
            absent = [each for each in outcomes if isinstance(each, _Absence)]
            # Whoever has left since it was to be asked had nothing unconverted any more.
            present = {each.name: each for each in wanted()} if absent else {}
            missing = [each for each in absent if each.host.name in present]
            is_over = time.monotonic() > deadline or not all(present[each.host.name].is_living for each in missing)
            if not missing or is_over:
                return tuple(one for each in outcomes if not isinstance(each, _Absence) for one in each), missing
            time.sleep(LOOK_SECONDS)

    def survey(self, after: After) -> Mapping[str, Sequence[SegmentRef] | str]:
        """By each other host what it has, or why it cannot be asked. Waits for nobody. Raises StorageUnavailable.

        `after` gives for a host the name of a segment, as in `segment_offer.offer`.
        """
        others = self._others()
        outcomes = self._ask_all(others, after)
        return {
            each.name: outcome.reason if isinstance(outcome, _Absence) else outcome
            for each, outcome in zip(others, outcomes, strict=True)
        }

    def _others(self) -> Sequence[Host]:
        return [each for each in host.present() if each.name != self._node]

    def _ask_all(
        self, hosts: Sequence[Host], after: After = only_unconverted
    ) -> "Sequence[Sequence[SegmentRef] | _Absence]":
        asked = [after(each.name) for each in hosts]
        if len(hosts) < 2:
            return list(map(self._ask, hosts, asked))
        with ThreadPoolExecutor(len(hosts)) as pool:
            return tuple(pool.map(self._ask, hosts, asked))

    def _ask(self, peer: Host, after: str | None) -> "Sequence[SegmentRef] | _Absence":
        try:
            for _ in range(MOST_ATTEMPTS):
                with suppress(MirrorLost):
                    return self._update(peer, after)
            return _Absence(peer, f"its mirror below {self._mirrors} is removed again and again")
        except Unreachable as error:
            return _Absence(peer, str(error))

    def _update(self, peer: Host, after: str | None) -> Sequence[SegmentRef]:
        """Bring the mirrors of the peer's segments up to date. Raises Unreachable, MirrorLost."""
        target = self._mirrors / directory(peer.name)
        target.mkdir(parents=True, exist_ok=True)
        known = {each.name: each.size for each in list_segments(target)}
        with self._client.ask(peer, known, after) as offer:
            return [_continue(target, each, offer, known.get(each.name, 0)) for each in offer.segments]


def _missing(absent: Sequence[_Absence]) -> HostMissing:
    for each in absent:
        logger.warning("host %s (%s) is missing: %s", each.host.name, each.host.url, each.reason)
    names = ", ".join(f"{each.host.name} ({each.host.url or 'no address'})" for each in absent)
    return HostMissing(
        f"what host {names} has stored last cannot be read: {absent[0].reason}; an operator may bring it back,"
        " or give up what only it has: `weirctl host drop`",
        retry_after_seconds=2,
        host=absent[0].host.name,
    )


def _continue(target: Path, segment: Offered, offer: Offer, peer_size: int) -> SegmentRef:
    """Add the bytes that were offered. Raises MirrorLost, ValueError, OSError."""
    if not NAME.fullmatch(segment.name) or not 0 <= segment.offset <= min(peer_size, segment.size):
        raise ValueError(f"an offer that was not asked for: {segment}")
    path = target / (segment.name + SEGMENT_SUFFIX)
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o640)
    try:
        have = os.fstat(fd).st_size
        if have < segment.offset:
            raise MirrorLost(segment.name)
        if segment.size < peer_size:
            # Its owner took back what it could not sync, and has sealed it: it will not grow again.
            os.ftruncate(fd, min(have, segment.size))
        _copy(offer, fd, segment.offset, segment.size)
        # What is listed is in use, so it is not removed (`forget`).
        os.utime(fd)
    finally:
        os.close(fd)
    return SegmentRef(segment.name, str(path), segment.size)


def _copy(offer: Offer, fd: int, start: int, end: int) -> None:
    at = start
    while at < end:
        piece = offer.stream.read(min(PIECE_BYTES, end - at))
        if not piece:
            raise ValueError(f"its answer broke off {end - at} bytes early")
        done = 0
        while done < len(piece):
            done += os.pwrite(fd, piece[done:], at + done)
        at += len(piece)


def forget(mirrors: Path, unused_seconds: float) -> int:
    """Remove the mirrors that no query has listed for so long; return how many."""
    removed = 0
    for path in mirrors.glob(f"*/*{SEGMENT_SUFFIX}"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - unused_seconds:
                path.unlink()
                removed += 1
    return removed
