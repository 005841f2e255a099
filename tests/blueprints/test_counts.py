"""`POST /api/v1/counts`: reference/parseable-contract.md section 5, "Counts"."""

from typing import Any

import pytest

from tests.running import Service


@pytest.fixture(scope="module")
def bars(service: Service) -> Service:
    service.ingest("bars", [{"env": "prod" if n < 3 else "dev"} for n in range(10)]).raise_for_status()
    return service


def counted(service: Service, headers: dict[str, str] | None = None, **members: Any) -> dict[str, Any]:
    body = {"stream": "bars", "startTime": "10m", "endTime": "now", **members}
    answer = service.call("POST", "/api/v1/counts", json=body, headers=headers or {})
    answer.raise_for_status()
    return dict(answer.json())


def test_every_event_is_in_one_bin_and_empty_bins_are_there(bars: Service) -> None:
    found = counted(bars, numBins=20)

    assert found["fields"] == ["start_time", "end_time", "count"]
    assert len(found["records"]) == 20
    assert sum(each["count"] for each in found["records"]) == 10
    assert [list(each) for each in found["records"]] == [["start_time", "end_time", "count"]] * 20


def test_ten_minutes_are_bins_of_one_minute(bars: Service) -> None:
    assert len(counted(bars)["records"]) == 10


def test_a_narrowed_reader_counts_its_rows_alone(bars: Service) -> None:
    """attacks.md 5: histograms too."""
    resource = {"dataset": "bars", "tag": "env=prod"}
    key = bars.make_key("bars-prod", {"privilege": "reader", "resource": resource})

    found = counted(bars, {"X-API-Key": key}, numBins=1)

    assert [each["count"] for each in found["records"]] == [3]


@pytest.mark.parametrize(
    "members",
    [{"numBins": 0}, {"numBins": 10**9}, {"startTime": "x"}, {"endTime": None}, {"stream": 1}, {"conditions": {}}],
    ids=str,
)
def test_bad_members_are_refused(bars: Service, members: dict[str, Any]) -> None:
    body = {"stream": "bars", "startTime": "10m", "endTime": "now", **members}

    assert bars.call("POST", "/api/v1/counts", json=body).status_code == 400


def test_hidden_and_missing_datasets_are_refused_alike(bars: Service) -> None:
    key = bars.make_key("bars-none", {"privilege": "reader", "resource": {"dataset": "other"}})

    answers = [
        bars.call(
            "POST",
            "/api/v1/counts",
            json={"stream": name, "startTime": "1h", "endTime": "now"},
            headers={"X-API-Key": key},
        )
        for name in ("bars", "bars-absent")
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
