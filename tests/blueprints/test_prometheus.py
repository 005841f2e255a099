"""Prometheus' API through a running service: errors, rights, datasets, duplicates. api.md section 7."""

import cramjam
import pytest
import requests

from ingest.proto.remote_write import WriteRequest
from tests.running import ADMIN, Service, wait_until

START_MS = 1_795_000_000_000
STEP_MS = 15_000


def write(
    service: Service, dataset: str, *series: tuple[dict[str, str], list[float]], start_ms: int = START_MS
) -> None:
    """A sample every 15 s of each series."""
    request = WriteRequest()
    for labels, values in series:
        message = request.timeseries.add()
        for name, value in sorted(labels.items()):
            message.labels.add(name=name, value=value)
        for place, value in enumerate(values):
            message.samples.add(value=value, timestamp=start_ms + place * STEP_MS)
    headers = {"X-P-Stream": dataset, "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
    sent = headers | {"Content-Type": "application/x-protobuf"}
    assert service.call("POST", "/v1/prometheus/write", data=body, headers=sent).status_code == 204


def ask(service: Service, dataset: str, path: str, headers: dict[str, str] | None = None, **parameters: object):
    """As the administrator, or with the headers of somebody else."""
    sent = {"headers": headers} if headers else {"auth": ADMIN}
    return requests.post(f"{service.url}/prometheus/{dataset}/api/v1/{path}", data=parameters, timeout=30, **sent)


def vector(answer: requests.Response) -> dict[str, float]:
    assert answer.status_code == 200, answer.text
    found = answer.json()["data"]["result"]
    return {",".join(each["metric"].values()): float(each["value"][1]) for each in found}


def at(step: int) -> float:
    return (START_MS + step * STEP_MS) / 1000


def test_rate_of_a_counter_is_answered(service):
    write(service, "prom_rate", ({"__name__": "hits_total", "job": "api"}, [float(10 * n) for n in range(21)]))

    answer = ask(service, "prom_rate", "query", query="rate(hits_total[5m])", time=at(20))

    assert vector(answer) == {"api": pytest.approx(10 / 15)}


def test_statistics_tell_times_and_samples(service):
    """The members of Prometheus' util/stats/query_stats.go; the parts make up the whole."""
    write(service, "prom_stats", ({"__name__": "gauge"}, [1.0, 2.0]))

    stats = ask(service, "prom_stats", "query", query="sum(gauge)", time=at(1), stats="true").json()["data"]["stats"]

    timings = stats["timings"]
    assert timings["queryPreparationTime"] > 0
    assert timings["innerEvalTime"] > 0
    parts = timings["queryPreparationTime"] + timings["innerEvalTime"]
    assert timings["evalTotalTime"] == pytest.approx(parts)
    assert timings["execTotalTime"] == pytest.approx(timings["evalTotalTime"] + timings["execQueueTime"])
    assert stats["samples"]["totalQueryableSamples"] >= 1
    assert "stats" not in ask(service, "prom_stats", "query", query="sum(gauge)", time=at(1)).json()["data"]


def test_first_of_two_samples_of_one_time_counts(service):
    """Section 7: of several samples with one series and one time, the first acknowledged counts."""
    write(service, "prom_twice", ({"__name__": "gauge"}, [1.0]))
    write(service, "prom_twice", ({"__name__": "gauge"}, [2.0]))

    assert vector(ask(service, "prom_twice", "query", query="gauge", time=at(0))) == {"gauge": 1.0}
    assert vector(ask(service, "prom_twice", "query", query="count_over_time(gauge[1m])", time=at(0))) == {"": 1.0}


def test_labels_that_had_to_be_renamed_have_their_own_names(service):
    write(service, "prom_renamed", ({"__name__": "gauge", "metric_type": "x", "is_stale": "no"}, [1.0]))

    (found,) = ask(service, "prom_renamed", "series", **{"match[]": "gauge"}).json()["data"]

    assert found == {"__name__": "gauge", "metric_type": "x", "is_stale": "no"}


def test_narrowed_reader_sees_the_series_of_its_rows(service):
    """Section 7: narrowed readers see their rows' series, through every door."""
    series = [
        ({"__name__": "gauge", "team": team, team: "yes"}, [value]) for team, value in (("red", 1.0), ("blue", 2.0))
    ]
    write(service, "prom_narrow", *series)
    entry = {"privilege": "reader", "resource": {"dataset": "prom_narrow", "tag": "team=red"}}
    key = {"X-API-Key": service.make_key("prom-narrow", entry)}

    values = vector(ask(service, "prom_narrow", "query", key, query="sum(gauge)", time=at(0)))
    names = ask(service, "prom_narrow", "labels", key).json()["data"]
    teams = requests.get(
        f"{service.url}/prometheus/prom_narrow/api/v1/label/team/values", headers=key, timeout=30
    ).json()
    counted = ask(service, "prom_narrow", "cardinality/label_values", key, label_name="team", lookback=10**9).json()
    found = ask(service, "prom_narrow", "series", key, **{"match[]": "gauge"}).json()["data"]

    assert values == {"": 1.0}
    assert names == ["__name__", "red", "team"]
    assert teams["data"] == ["red"]
    assert counted["data"] == [{"name": "red", "value": 1}]
    assert [each["team"] for each in found] == ["red"]


def test_dataset_comes_from_path_parameter_header_or_is_the_only_one(service):
    write(service, "prom_named", ({"__name__": "gauge"}, [1.0]))
    url, query = f"{service.url}/prometheus/api/v1/query", {"query": "gauge", "time": at(0)}
    entry = {"privilege": "reader", "resource": {"dataset": "prom_named"}}
    only = {"X-API-Key": service.make_key("prom-named", entry)}

    answers = [
        requests.get(url, query | {"stream": "prom_named"}, auth=ADMIN, timeout=30),
        requests.get(url, query, auth=ADMIN, headers={"X-P-Stream": "prom_named"}, timeout=30),
        requests.get(url, query, headers=only, timeout=30),
    ]

    assert [vector(each) for each in answers] == [{"gauge": 1.0}] * 3


def test_without_a_dataset_the_choices_are_named(service):
    write(service, "prom_choice_a", ({"__name__": "gauge"}, [1.0]))
    write(service, "prom_choice_b", ({"__name__": "gauge"}, [1.0]))

    answer = requests.get(f"{service.url}/prometheus/api/v1/query?query=up", auth=ADMIN, timeout=30)

    assert (answer.status_code, answer.json()["errorType"]) == (400, "bad_data")
    assert "prom_choice_a" in answer.json()["error"]
    assert "prom_choice_b" in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "parameters", "status", "kind", "text"),
    [
        ("query", {"query": "sum("}, 400, "bad_data", 'invalid parameter "query": 1:'),
        ("query", {}, 400, "bad_data", "no expression found in input"),
        ("query", {"query": "up", "time": "x"}, 400, "bad_data", 'invalid parameter "time": cannot parse "x"'),
        ("query", {"query": "up", "limit": "-1"}, 400, "bad_data", "non-negative"),
        ("query_range", {"query": "up", "start": 0, "end": 1}, 400, "bad_data", 'invalid parameter "step"'),
        ("query_range", {"query": "up", "start": 0, "end": 1e9, "step": 1}, 400, "bad_data", "11,000 points"),
        ("query", {"query": "g{a=~'('}"}, 400, "bad_data", "error parsing regexp"),
        ("query", {"query": "limitk(1, g)"}, 400, "bad_data", "experimental"),
        ("query", {"query": "g{}[5m] smoothed"}, 400, "bad_data", "experimental"),
        ("query", {"query": "label_replace(g, 'a', '', 'b', '(')"}, 422, "execution", "invalid regular expression"),
        ("query", {"query": "g + on (b) g"}, 422, "execution", "many-to-many matching not allowed"),
        ("series", {}, 400, "bad_data", "no match[] parameter provided"),
        ("query", {"query": "(" * 20_000}, 400, "bad_data", "too complex"),
        ("query", {"query": "1" + "+1" * 20_000}, 400, "bad_data", "too complex"),
    ],
)
def test_error_has_prometheus_shape(service, path, parameters, status, kind, text):
    write(service, "prom_errors", *(({"__name__": "g", "a": each}, [1.0]) for each in "xy"))
    parameters = {"time": at(0), **parameters} if path == "query" else parameters

    answer = ask(service, "prom_errors", path, **parameters)

    assert (answer.status_code, answer.json()["status"], answer.json()["errorType"]) == (status, "error", kind)
    assert text in answer.json()["error"]


def test_unknown_dataset_and_missing_right_have_prometheus_shape(service):
    entry = {"privilege": "reader", "resource": {"dataset": "prom_other"}}
    key = {"X-API-Key": service.make_key("prom-other", entry)}

    missing = ask(service, "prom_none", "query", query="up")
    refused = ask(service, "prom_none", "query", key, query="up")
    stranger = ask(service, "prom_none", "query", {"X-Nothing": "1"}, query="up")

    found = [(each.status_code, each.json()["errorType"]) for each in (missing, refused, stranger)]
    assert found == [(404, "not_found"), (403, "forbidden"), (401, "unauthorized")]


def test_grafana_finds_what_it_asks_first(service):
    """Its health check, and the version by which it knows what it may use."""
    write(service, "prom_grafana", ({"__name__": "gauge"}, [1.0]))

    health = ask(service, "prom_grafana", "query", query="1+1", time=4)
    build = service.call("GET", "/prometheus/prom_grafana/api/v1/status/buildinfo").json()
    rules = service.call("GET", "/prometheus/prom_grafana/api/v1/rules").json()

    assert health.json() == {"status": "success", "data": {"resultType": "scalar", "result": [4, "2"]}}
    assert build["data"]["version"].startswith("3.")
    assert rules == {"status": "success", "data": {"groups": []}}


def test_statistics_count_series(service):
    write(service, "prom_tsdb", *(({"__name__": "gauge", "n": str(n)}, [1.0]) for n in range(3)))

    found = service.call("GET", "/prometheus/prom_tsdb/api/v1/status/tsdb?topN=1&focusLabel=n").json()["data"]

    assert found["totalSeries"] == found["headStats"]["numSeries"] == 3
    assert found["seriesCountByMetricName"] == [{"name": "gauge", "value": 3}]
    assert found["labelValueCountByLabelName"] == [{"name": "n", "value": 3}]
    assert found["seriesCountByFocusLabelValue"] == [{"name": "0", "value": 1}]


def test_metadata_is_what_senders_said(service):
    request = WriteRequest()
    request.metadata.add(type=1, metric_family_name="hits_total", help="Requests.", unit="")
    message = request.timeseries.add()
    message.labels.add(name="__name__", value="hits_total")
    message.samples.add(value=1.0, timestamp=START_MS)
    headers = {"X-P-Stream": "prom_metadata", "X-P-Log-Source": "otel-metrics", "Content-Encoding": "snappy"}
    body = bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
    service.call(
        "POST", "/v1/prometheus/write", data=body, headers=headers | {"Content-Type": "application/x-protobuf"}
    )

    def metadata() -> dict[str, object]:
        return service.call("GET", "/prometheus/prom_metadata/api/v1/metadata").json()["data"]

    wait_until(metadata)
    assert metadata() == {"hits_total": [{"type": "counter", "help": "Requests.", "unit": ""}]}
