"""What is sent comes back by `SELECT *`, value by value, after the documented flattening (api.md section 4)."""

import itertools
import json
from typing import Any

from hypothesis import HealthCheck, given, settings

from tests.ingest.json.test_decoding import EVENTS, flat
from tests.running import Service

NUMBERS = itertools.count()
KINDS = ("bool", "int64", "float64", "utf8", "json", "list_bool", "list_int64", "list_float64", "list_utf8")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS)
def test_any_events_come_back_as_they_were_sent(service: Service, events: list[dict[str, Any]]):
    name = f"trip-{next(NUMBERS)}"
    body = json.dumps([{**event, "row number": number} for number, event in enumerate(events)])

    sent = service.call("POST", "/api/v1/ingest", data=body, headers={"X-P-Stream": name})
    rows = service.query(f'SELECT * FROM "{name}"')

    assert sent.json() == {"dataset": name, "events": len(events)}
    by_number = {row["row number"]: row for row in rows} if events else {}
    assert len(rows) == len(by_number) == len(events)
    for number, event in enumerate(events):
        _check(event, by_number[number])


def _check(event: dict[str, Any], row: dict[str, Any]) -> None:
    """Every value of the flattened event is in a column of its name, and there is nothing else."""
    kept = {name: value for name, value in flat(event, 10).items() if value not in (None, {})}
    cells = {
        name: value
        for name, value in row.items()
        if value is not None and not name.startswith("p_") and name != "row number"
    }
    for name, value in kept.items():
        column = next((each for each in _columns_of(name) if _same(cells.get(each), value)), None)
        assert column is not None, f"{name!r}: {value!r} is nowhere in {cells!r}"
        del cells[column]
    assert cells == {}


def _columns_of(name: str) -> list[str]:
    """Its own, then the siblings, to the third degree."""
    names = [name]
    for _ in range(3):
        names += [f"{each}_{kind}" for each in (name, *names[-len(KINDS) :]) for kind in KINDS if each.startswith(name)]
    return names


def _same(found: Any, sent: Any) -> bool:
    if isinstance(sent, int) and not isinstance(sent, bool) and not -(2**63) <= sent < 2**63:
        return bool(found == str(sent))
    return (type(found) is type(sent) and found == sent) or _equal_numbers(found, sent) or _equal_lists(found, sent)


def _equal_numbers(found: Any, sent: Any) -> bool:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (found, sent))
    return numbers and found == sent


def _equal_lists(found: Any, sent: Any) -> bool:
    return (isinstance(sent, list | dict) and json.dumps(found) == json.dumps(sent)) or found == sent != []
