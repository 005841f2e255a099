"""Other hosts' segments, read as if they were this host's own: exact, and only what is new is copied."""

import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from errors import HostMissing, StorageUnavailable
from models import host
from models.host import Host
from storage.cluster import peers
from storage.cluster.peer_client import Offer, Offered, Unreachable
from storage.cluster.peers import Peers
from storage.cluster.segment_offer import content, offer
from storage.context import Layout
from storage.read import listing
from storage.read.dataset_stats import dataset_stats
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.upkeep.conversion import convert_all, remove_converted
from storage.wal.segments import list_segments
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from tests.storage.workbench import NOON, Bench, batch_of


class Wire:
    """In place of HTTP: hands over what the peers offer, and remembers how much that was."""

    def __init__(self) -> None:
        self.layouts: dict[str, Layout] = {}
        self.sent: list[int] = []
        self.known: list[dict[str, int]] = []
        self.between = lambda: None

    @contextmanager
    def ask(self, peer: Host, known: dict[str, int], after: str | None = None) -> Iterator[Offer]:
        if peer.name not in self.layouts:
            raise Unreachable("connection refused")
        parts = offer(self.layouts[peer.name], known)
        data = b"".join(content(parts))
        self.sent.append(len(data))
        self.known.append(known)
        self.between()
        segments = tuple(Offered(each.segment.name, each.segment.size, each.offset) for each in parts)
        yield Offer(segments, io.BytesIO(data))  # type: ignore[arg-type]


class Signer:
    def sign(self, *parts: bytes) -> str:
        return ""

    def signed(self, signature: str, *parts: bytes) -> bool:
        return False


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    monkeypatch.setattr(peers, "RESTART_SECONDS", 0)
    return Wire()


class HostBench:
    """One of several hosts: a directory of its own, on the database and the store of the others."""

    def __init__(self, root: Path, name: str, wire: Wire) -> None:
        root.mkdir(parents=True)
        found = Peers(name, root / "staging" / "peers", Signer())
        found._client = wire  # type: ignore[assignment]
        self.layout = Layout(root, name, peers=found)
        self.storage = Storage(self.layout, flush_seconds=60)
        self.app = self.storage.find("default", "app")
        wire.layouts[name] = self.layout
        host.arrive(name, f"http://{name}")

    def append(self, **columns: list[object]) -> None:
        self.storage.append(self.app, batch_of(**columns), Arrival(NOON, "192.0.2.1", "curl/8", body_bytes=10))

    def values(self) -> list[object]:
        return sorted(scan(take_snapshot(self.layout, self.app)).collect()["x"])

    def close(self) -> None:
        self.storage.close()


@pytest.fixture
def pair(bench: Bench, tmp_path: Path, wire: Wire) -> Iterator[tuple[HostBench, HostBench]]:
    made = HostBench(tmp_path / "a", "a", wire), HostBench(tmp_path / "b", "b", wire)
    yield made
    for each in made:
        each.close()


def test_events_of_both_hosts_are_in_the_answers_of_each(pair: tuple[HostBench, HostBench]) -> None:
    here, there = pair
    here.append(x=[1])
    there.append(x=[2, 3])

    assert here.values() == there.values() == [1, 2, 3]
    assert dataset_stats(here.layout, here.app).events == 3


def test_only_what_was_added_since_is_copied(pair: tuple[HostBench, HostBench], wire: Wire) -> None:
    here, there = pair
    there.append(x=list(range(1000)))
    here.values()
    first = wire.sent[-1]
    there.append(x=[1000])
    here.values()
    second = wire.sent[-1]
    here.values()

    assert first > second > 0
    assert wire.sent[-1] == 0


def test_segment_that_is_converted_after_it_was_offered_is_read_from_its_files(
    pair: tuple[HostBench, HostBench], wire: Wire
) -> None:
    """Invariant 4 over hosts: all staging is listed before the manifest is read."""
    here, there = pair
    there.append(x=[1])
    there.close()
    # The files of both hosts are in one store; here, that is the directory of the one that converts.
    here.layout = there.layout.__class__(there.layout.root, "a", peers=here.layout.peers)

    wire.between = lambda: convert_all(Layout(there.layout.root, "b")) and None
    assert here.values() == [1]
    wire.between = lambda: None
    # What is converted is not offered any more, and its mirror counts for nothing.
    assert here.values() == [1]
    assert offer(there.layout, {}) == []


def test_what_a_peer_took_back_is_taken_back_here(pair: tuple[HostBench, HostBench], wire: Wire) -> None:
    """A failed sync: the peer cuts its segment back to what it acknowledged, and seals it."""
    here, there = pair
    there.append(x=[1])
    (staged,) = list_segments(there.layout.staging)
    there.append(x=[2])
    assert here.values() == [1, 2]

    os.truncate(staged.path, staged.size)

    assert here.values() == [1]
    assert [each.size for each in list_segments(here.layout.mirrors / "b")] == [staged.size]
    assert here.values() == [1]


def test_mirror_that_is_removed_while_it_is_continued_is_copied_again(
    pair: tuple[HostBench, HostBench], wire: Wire
) -> None:
    """Else it would begin with a hole, and its events be missing."""
    here, there = pair
    there.append(x=[1])
    assert here.values() == [1]
    there.append(x=[2])

    def remove() -> None:
        wire.between = lambda: None
        assert peers.forget(here.layout.mirrors, -1) == 1

    wire.between = remove

    assert here.values() == [1, 2]
    assert list(wire.known[-1].values()) == [0]


def test_mirrors_are_removed_once_no_query_lists_them(pair: tuple[HostBench, HostBench]) -> None:
    here, there = pair
    there.append(x=[1])
    here.values()
    (mirror,) = list_segments(here.layout.mirrors / "b")
    os.utime(mirror.path, (time.time() - 1000,) * 2)

    here.values()
    assert peers.forget(here.layout.mirrors, 500) == 0
    os.utime(mirror.path, (time.time() - 1000,) * 2)
    assert peers.forget(here.layout.mirrors, 500) == 1
    assert here.values() == [1]


def test_host_that_cannot_be_asked_is_missing_by_name(pair: tuple[HostBench, HostBench], wire: Wire) -> None:
    here, _ = pair
    del wire.layouts["b"]

    with pytest.raises(HostMissing, match=r"host b \(http://b\).*connection refused") as raised:
        here.values()

    assert raised.value.details["host"] == "b"
    with pytest.raises(HostMissing):
        dataset_stats(here.layout, here.app)


def test_host_that_left_while_it_was_asked_is_not_missing(pair: tuple[HostBench, HostBench], wire: Wire) -> None:
    here, _ = pair
    here.append(x=[1])

    @contextmanager
    def leave(peer: Host, known: dict[str, int], after: str | None = None) -> Iterator[Offer]:
        host.stop("b", has_nothing_left=True)
        raise Unreachable("connection refused")
        yield

    wire.ask = leave  # type: ignore[method-assign]
    assert here.values() == [1]


def test_host_that_comes_back_soon_is_waited_for(
    pair: tuple[HostBench, HostBench], wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart in order refuses no query; but a host that was not seen lately is not waited for."""
    here, there = pair
    there.append(x=[1])
    monkeypatch.setattr(peers, "RESTART_SECONDS", 3600)
    looks: list[float] = []

    def look(seconds: float) -> None:
        looks.append(seconds)
        wire.layouts["b"] = there.layout

    monkeypatch.setattr(peers.time, "sleep", look)
    del wire.layouts["b"]
    assert here.values() == [1]
    assert len(looks) == 1

    del wire.layouts["b"]
    host.stop("b", has_nothing_left=False)
    with pytest.raises(HostMissing):
        here.values()
    assert len(looks) == 1


def test_listing_that_took_longer_than_a_conversion_is_remembered_is_not_used(
    pair: tuple[HostBench, HostBench], wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the row of a converted segment is forgotten, its mirror and its files would both count."""
    here, there = pair
    there.append(x=[1])
    monkeypatch.setattr(listing, "LONGEST_LISTING", timedelta(seconds=-1))

    with pytest.raises(StorageUnavailable, match="too long"):
        here.values()


def test_returning_host_doubles_nothing(pair: tuple[HostBench, HostBench], wire: Wire) -> None:
    """Dropped after its segment was converted and before that was deleted; it returns with the segment's file."""
    here, there = pair
    there.append(x=[1])
    there.close()
    alone = Layout(there.layout.root, "b")
    convert_all(alone)
    host.stop("b", has_nothing_left=False)
    host.drop("b")
    here.layout = Layout(there.layout.root, "a", peers=here.layout.peers)
    assert here.values() == [1]

    host.arrive("b", "http://b")

    assert here.values() == [1]
    assert convert_all(alone) == 0
    assert remove_converted(alone, -1) == 1
    assert here.values() == [1]


def test_offer_that_was_not_asked_for_is_refused(pair: tuple[HostBench, HostBench], wire: Wire) -> None:
    """A name from outside is a path only when it is a segment's, and bytes never begin after a hole."""
    here, _ = pair
    for offered in (Offered("../../x", 1, 0), Offered("0" * 26, 5, 4)):

        @contextmanager
        def give(
            peer: Host, known: dict[str, int], after: str | None = None, offered: Offered = offered
        ) -> Iterator[Offer]:
            try:
                yield Offer((offered,), io.BytesIO(b"x"))  # type: ignore[arg-type]
            except ValueError as error:
                raise Unreachable(str(error)) from error

        wire.ask = give  # type: ignore[method-assign]
        with pytest.raises(HostMissing, match="not asked for"):
            here.values()
    assert not (here.layout.mirrors / "x.wal").exists()


def test_a_reader_that_names_gaps_goes_on_without_a_lost_host_and_no_other_reader_does(
    pair: tuple[HostBench, HostBench], wire: Wire
) -> None:
    here, there = pair
    here.append(x=[1])
    there.append(x=[2])
    convert_all(there.layout)
    there.append(x=[3])
    del wire.layouts["b"]

    snapshot = take_snapshot(replace(here.layout, names_gaps=True), here.app)

    assert [each.host for each in snapshot.gaps] == ["b"]
    found = scan(snapshot).collect()["x"].to_list()
    assert 1 in found
    assert 3 not in found
    with pytest.raises(HostMissing):
        take_snapshot(here.layout, here.app)
    with pytest.raises(HostMissing):
        dataset_stats(here.layout, here.app)


def test_a_host_that_returns_is_no_gap_and_each_of_its_events_is_there_once(
    pair: tuple[HostBench, HostBench], wire: Wire
) -> None:
    here, there = pair
    there.append(x=[1, 2])
    lost = wire.layouts.pop("b")
    naming = replace(here.layout, names_gaps=True)
    assert take_snapshot(naming, here.app).gaps != ()

    wire.layouts["b"] = lost

    returned = take_snapshot(naming, here.app)
    assert returned.gaps == ()
    assert sorted(scan(returned).collect()["x"]) == [1, 2]


def test_a_silent_host_is_asked_again_from_its_next_sign_of_life_on(
    pair: tuple[HostBench, HostBench], wire: Wire
) -> None:
    here, _ = pair
    naming = replace(here.layout, names_gaps=True)
    lost = wire.layouts.pop("b")
    host.stop("b", has_nothing_left=False)
    assert [each.host for each in take_snapshot(naming, here.app).gaps] == ["b"]
    wire.layouts["b"] = lost

    assert [each.host for each in take_snapshot(naming, here.app).gaps] == ["b"]
    host.beat("b", "http://b")
    assert take_snapshot(naming, here.app).gaps == ()
