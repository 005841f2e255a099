"""The second copy: no hole in it, and nothing is appended once it is taken over (docs/decisions/several-hosts.md)."""

from pathlib import Path

import pytest

from errors import Conflict, StorageUnavailable
from models import segment, segment_copy
from storage.cluster import copies
from storage.context import Layout
from tests.storage.workbench import Bench

OWNER, NAME = "01OWNER", "01SEGMENT"


@pytest.fixture
def holder(bench: Bench) -> Layout:
    """A host that is to keep a copy of a segment."""
    segment_copy.begin(NAME, OWNER, bench.layout.node)
    return bench.layout


def copy_of(layout: Layout) -> Path:
    return layout.copies / OWNER / f"{NAME}.wal"


def append(layout: Layout, offset: int, body: bytes) -> None:
    copies.append(layout, OWNER, NAME, offset, body)


def test_what_is_appended_follows_what_is_there(holder: Layout) -> None:
    copies.begin(holder, OWNER, NAME)
    append(holder, 0, b"one")
    append(holder, 3, b"two")

    assert copy_of(holder).read_bytes() == b"onetwo"


def test_the_same_again_is_nothing_and_all_else_elsewhere_is_refused(holder: Layout) -> None:
    """A request whose answer was lost is repeated; a copy with a hole would be worse than none."""
    copies.begin(holder, OWNER, NAME)
    append(holder, 0, b"one")
    append(holder, 0, b"one")

    for offset, body in ((0, b"on"), (0, b"two"), (0, b"onetwo"), (4, b"two"), (1, b"nex")):
        with pytest.raises(Conflict):
            append(holder, offset, body)
    assert copy_of(holder).read_bytes() == b"one"


@pytest.mark.parametrize("name", ["unknown", "converted", "taken"])
def test_a_copy_begins_only_where_it_is_to_be_kept(holder: Layout, name: str) -> None:
    segment_copy.begin("converted", OWNER, holder.node)
    segment.switch("converted", OWNER, [], [])
    segment_copy.begin("taken", OWNER, holder.node)
    copies.begin(holder, OWNER, "taken")
    copies.take_over(holder, OWNER, "taken")

    with pytest.raises(Conflict):
        copies.begin(holder, OWNER, name)


def test_nothing_is_appended_to_what_is_taken_over(holder: Layout) -> None:
    """Its owner lives after all: it must acknowledge nothing that the conversion does not have."""
    copies.begin(holder, OWNER, NAME)
    append(holder, 0, b"one")

    found = copies.take_over(holder, OWNER, NAME)

    assert found is not None
    assert Path(found.path).read_bytes() == b"one"
    with pytest.raises(Conflict):
        append(holder, 3, b"two")
    assert copies.take_over(holder, OWNER, NAME) == found


def test_what_was_taken_back_is_not_taken_over(holder: Layout) -> None:
    copies.begin(holder, OWNER, NAME)
    append(holder, 0, b"onetwo")

    found = copies.take_over(holder, OWNER, NAME, size=3)

    assert found is not None
    assert Path(found.path).read_bytes() == b"one"


def test_names_of_others_lead_nowhere(holder: Layout) -> None:
    with pytest.raises(StorageUnavailable):
        copies.begin(holder, OWNER, "../../escape")
    with pytest.raises(Conflict):
        copies.begin(holder, "../../escape", NAME)
    assert not list(holder.root.rglob("escape*"))
