"""Remote write through a running service. Spec 4.2; api.md section 4; the remote-write protocols."""

import gzip
from concurrent.futures import ThreadPoolExecutor

import cramjam
import pytest
import requests

from ingest.proto.remote_write import Request, WriteRequest
from tests.running import Service

pytestmark = pytest.mark.each_stack

VERSION_1 = "application/x-protobuf"
VERSION_2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
NOW_MS = 1_795_000_000_123
WRITTEN = "X-Prometheus-Remote-Write-{}-Written"


def snappy(body: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(body))


def samples(*values: float, name: str = "up", **labels: str) -> bytes:
    """A series for each value."""
    request = WriteRequest()
    for number, value in enumerate(values):
        series = request.timeseries.add()
        for label, text in {"__name__": name, "n": str(number), **labels}.items():
            series.labels.add(name=label, value=text)
        series.samples.add(value=value, timestamp=NOW_MS)
    return request.SerializeToString()


def send(service: Service, dataset: str, body: object, content_type: str = VERSION_1, **headers: str):
    sent = {
        "X-P-Stream": dataset,
        "X-P-Log-Source": "otel-metrics",
        "Content-Type": content_type,
        "Content-Encoding": "snappy",
        **headers,
    }
    return service.call(
        "POST", "/v1/prometheus/write", data=body, headers={name: value for name, value in sent.items() if value}
    )


def written(answer: requests.Response) -> list[str | None]:
    return [answer.headers.get(WRITTEN.format(kind)) for kind in ("Samples", "Histograms", "Exemplars")]


def count(service: Service, dataset: str) -> int:
    return service.query(f"select count(*) from {dataset}")[0]["count"]


def test_samples_are_stored_and_counted(service):
    answer = send(service, "rw_samples", snappy(samples(1.5, 0.0, job="node")))

    assert (answer.status_code, answer.content) == (204, b"")
    assert written(answer) == ["2", "0", "0"]
    assert service.query(
        "select metric_name, metric_type, time_unix_nano, data_point_value, is_stale, job, n from rw_samples order by n"
    ) == [
        {
            "metric_name": "up",
            "metric_type": "unknown",
            "time_unix_nano": "2026-11-18T11:06:40.123Z",
            "data_point_value": value,
            "is_stale": False,
            "job": "node",
            "n": n,
        }
        for n, value in (("0", 1.5), ("1", 0.0))
    ]


@pytest.mark.parametrize(
    ("coding", "compress"),
    [
        ("snappy", snappy),
        ("gzip", gzip.compress),
        ("zstd", lambda body: bytes(cramjam.zstd.compress(body))),
        ("", bytes),
        ("identity", bytes),
    ],
)
def test_other_codings_are_taken(service, coding, compress):
    """Fluent Bit sends gzip or none, some agents zstd."""
    answer = send(service, f"rw_coding_{coding}", compress(samples(1.0)), **{"Content-Encoding": coding})

    assert answer.status_code == 204
    assert count(service, f"rw_coding_{coding}") == 1


@pytest.mark.parametrize(
    "body",
    [
        bytes(cramjam.snappy.compress(samples(1.0))),
        b"\xff\xff\xff\xff\x0f" + snappy(samples(1.0))[1:],
        b"\x80\x80\x80\x40" + snappy(samples(1.0))[1:],
        b"",
    ],
    ids=["framed", "lying beyond every limit", "lying within the limit", "empty"],
)
def test_what_is_not_a_snappy_block_is_refused(service, body):
    """Remote-write 1.0: the block format, not the framed one."""
    answer = send(service, "rw_broken", body)

    assert answer.status_code in (400, 413)
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_another_coding_is_refused(service):
    assert send(service, "rw_broken", b"", **{"Content-Encoding": "br"}).status_code == 415


@pytest.mark.parametrize("content_type", ["application/json", f"{VERSION_1};proto=io.prometheus.write.v9.Request"])
def test_another_message_is_refused_so_that_the_sender_falls_back(service, content_type):
    """Remote-write 2.0: 415."""
    assert send(service, "rw_broken", snappy(b""), content_type).status_code == 415


def test_version_2_is_taken(service):
    request = Request(symbols=["", "__name__", "up"])
    request.timeseries.add(labels_refs=[1, 2], samples=[{"value": 2.5, "timestamp": NOW_MS}])

    answer = send(service, "rw_version_2", snappy(request.SerializeToString()), VERSION_2)

    assert (answer.status_code, written(answer)) == (204, ["1", "0", "0"])
    assert count(service, "rw_version_2") == 1


def test_metadata_alone_succeeds(service):
    """Prometheus sends it by itself, once a minute."""
    request = WriteRequest()
    request.metadata.add(type=1, metric_family_name="a_total", help="All a.")

    answer = send(service, "rw_metadata", snappy(request.SerializeToString()))

    assert (answer.status_code, written(answer)) == (204, ["0", "0", "0"])


def test_what_cannot_be_stored_is_refused_and_the_rest_stored(service):
    """Remote-write 1.0 and 2.0, "Partial writes": never a success when something was left out."""
    request = WriteRequest.FromString(samples(1.0, 2.0))
    request.timeseries[0].labels.add(name="n", value="twice")

    answer = send(service, "rw_partial", snappy(request.SerializeToString()))

    assert (answer.status_code, written(answer)) == (400, ["1", "0", "0"])
    assert answer.text == "1 not stored, the rest is: label n occurs twice in one series\n"
    assert count(service, "rw_partial") == 1


def test_bytes_that_are_no_message_are_refused_with_text(service):
    answer = send(service, "rw_broken", snappy(b"\xff\xff\xff"))

    assert answer.status_code == 400
    assert "protobuf" in answer.text


def test_many_label_names_are_refused_with_a_clear_text(service):
    """A label name that carries values would break the dataset."""
    request = WriteRequest()
    for number in range(1001):
        series = request.timeseries.add(samples=[{"value": 1.0, "timestamp": NOW_MS}])
        series.labels.add(name=f"l{number}", value="x")

    answer = send(service, "rw_explosion", snappy(request.SerializeToString()))

    assert answer.status_code == 400
    assert "1001 different label names" in answer.text


@pytest.mark.parametrize("sent", ["", "otel-logs"])
def test_a_missing_or_wrong_log_source_is_refused_by_naming_the_right_one(service, sent):
    """Spec 4.2."""
    answer = send(service, "rw_source", snappy(b""), **{"X-P-Log-Source": sent})

    assert answer.status_code == 400
    assert "otel-metrics" in answer.text


def test_a_missing_dataset_is_refused_by_naming_the_header(service):
    """Spec 4.2: X-P-Stream is required."""
    answer = send(service, "", snappy(b""))

    assert answer.status_code == 400
    assert "X-P-Stream" in answer.text


def test_a_wrong_key_is_refused_with_text(service):
    headers = {"X-API-Key": "00000000-0000-4000-8000-000000000000"}

    answer = requests.post(f"{service.url}/v1/prometheus/write", data=b"", headers=headers, timeout=30)

    assert answer.status_code == 401
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_overload_asks_to_come_back(start_service):
    service = start_service(workers=1, WEIR_MAX_INFLIGHT_BYTES="1000")

    answer = send(service, "rw_overload", samples(*map(float, range(100))), **{"Content-Encoding": ""})

    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1


def test_requests_at_once_are_all_stored(service):
    """Large ones are decoded in threads that share one catalogue of known series."""
    bodies = [snappy(samples(*map(float, range(600)), name=f"m{number % 6}")) for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: send(service, "rw_parallel", body), bodies))

    assert {answer.status_code for answer in answers} == {204}
    assert service.query(
        "select metric_name, count(*) as rows, count(distinct n) as series, sum(data_point_value) as total,"
        " sum(case when n = data_point_value::bigint::text then 1 else 0 end) as right"
        " from rw_parallel group by metric_name order by metric_name"
    ) == [
        {"metric_name": f"m{number}", "rows": 2400, "series": 600, "total": 4 * sum(range(600)), "right": 2400}
        for number in range(6)
    ]


@pytest.mark.parametrize(
    ("content_type", "message"), [(VERSION_1, b"\x0a\x00"), (VERSION_2, b"\x2a\x00")], ids=["1.0", "2.0"]
)
def test_body_of_empty_series_is_refused_before_they_are_objects(service, content_type, message):
    """Four kilobytes of gzip took ten seconds (docs/security.md, "Costs")."""
    answer = send(service, "rw_bomb", snappy(message * 3_000_000), content_type)

    assert answer.status_code == 413
    assert "memory when decoded" in answer.text


def test_a_request_of_metadata_alone_makes_its_dataset(service):
    """Prometheus sends one every minute, and the first may come before any sample."""
    request = WriteRequest()
    request.metadata.add(type=1, metric_family_name="requests", help="Requests.")

    answer = send(service, "rw_metadata", snappy(request.SerializeToString()))

    assert answer.status_code == 204
    assert count(service, "rw_metadata") == 0


def test_version_2_without_the_empty_symbol_is_refused_whole(service):
    request = Request(symbols=["__name__", "up"])
    request.timeseries.add(labels_refs=[0, 1], samples=[{"value": 1.0, "timestamp": NOW_MS}])

    answer = send(service, "rw_symbols", snappy(request.SerializeToString()), VERSION_2)

    assert answer.status_code == 400
    assert "empty string" in answer.text
