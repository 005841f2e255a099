"""Small requests that are stored together: what is wrong with one of them is that one's alone."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from blueprints.gathering import Gathering, Small
from errors import InvalidEvent, InvalidJSON, TooManyColumns
from storage.arrival import Arrival

GROUP = 64


class Recorded:
    """Takes what a group stores, and counts the times."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.times = 0

    def append_shared(self, target: Any, batch: Any, shares: Any) -> None:
        self.times += 1
        assert sum(share.rows for share in shares) == batch.height
        self.values += batch.columns[0].to_list() if batch.columns else []

    def append(self, target: Any, batch: Any, arrival: Arrival) -> None:
        self.append_shared(target, batch, [SimpleNamespace(rows=batch.height)])


def stored(bodies: list[bytes]) -> tuple[Recorded, list[Small]]:
    recorded: Any = Recorded()
    target: Any = SimpleNamespace(id=1)
    group = [Small(target, body, Arrival(datetime.now(UTC))) for body in bodies]
    Gathering(recorded, max_columns=2)._store(group)
    return recorded, group


def test_a_group_is_stored_at_once_and_each_knows_its_number_of_events():
    recorded, group = stored([b'{"n":0}', b'[{"n":1},{"n":2}]', b"[]", b'{"n":3}\n{"n":4}'])

    assert (recorded.times, recorded.values) == (1, [0, 1, 2, 3, 4])
    assert [(each.events, each.error) for each in group] == [(1, None), (2, None), (0, None), (2, None)]


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
    bodies = [body if number in places else b'{"n":%d}' % number for number in range(GROUP)]

    recorded, group = stored(bodies)

    assert recorded.values == [number for number in range(GROUP) if number not in places]
    assert [type(each.error) for each in group] == [
        error if number in places else type(None) for number in range(GROUP)
    ]
    assert all(each.answered.is_set() for each in group)
    assert recorded.times <= 6 * len(places)


def test_an_integer_that_the_group_would_round_is_stored_as_it_was_sent():
    recorded, group = stored([b'{"n":1}', b'{"m":18446744073709551616}'])

    assert [each.error for each in group] == [None, None]
    assert recorded.values == [1, "18446744073709551616"]
