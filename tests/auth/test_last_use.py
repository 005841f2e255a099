"""Uses of keys are written rarely and off the request's way."""

from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from auth.last_use import LastUse
from errors import StorageUnavailable

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_many_uses_are_one_write_of_the_newest():
    written = []
    uses = LastUse(written.append)
    for second in range(100):
        uses.note("K1", NOW + timedelta(seconds=second))
    assert written == []

    uses.close()

    assert written == [{"K1": NOW + timedelta(seconds=99)}]


def test_nothing_noted_is_nothing_written():
    written = []

    LastUse(written.append).close()

    assert written == []


def test_thread_writes_by_itself():
    done = Event()
    uses = LastUse(lambda _: done.set(), every_seconds=0.01)
    uses.note("K1", NOW)

    assert done.wait(10)
    uses.close()


@pytest.mark.parametrize("error", [StorageUnavailable("away"), ValueError("no connection left in the pool")])
def test_uses_survive_a_database_that_is_away(error):
    written = []

    def write(uses):
        written.append(uses)
        if len(written) == 1:
            raise error

    uses = LastUse(write)
    uses.note("K1", NOW)
    uses.flush()
    uses.note("K2", NOW)
    uses.close()

    assert written[1] == {"K1": NOW, "K2": NOW}
