"""Elasticsearch's bulk API and probes through a running service (api.md section 12)."""

import base64
import gzip

import orjson
import pytest
import requests

from tests.running import Service

PREFIXES = pytest.mark.parametrize("prefix", ["", "/elasticsearch"])


def bulk(*pairs: tuple[str, object]) -> bytes:
    return b"".join(
        orjson.dumps({"create": {"_index": index}}) + b"\n" + orjson.dumps(document) + b"\n"
        for index, document in pairs
    )


def send(service: Service, body: bytes, path: str = "/_bulk", **arguments) -> requests.Response:
    headers = {"Content-Type": "application/x-ndjson", **arguments.pop("headers", {})}
    return service.call("POST", path, data=body, headers=headers, **arguments)


@PREFIXES
def test_items_are_stored_and_told(service: Service, prefix: str):
    name = f"es_items{prefix.replace('/', '_')}"

    answer = send(service, bulk((name, {"n": 1}), (name, {"n": 2})), f"{prefix}/_bulk?refresh=wait_for")

    assert answer.status_code == 200
    assert answer.headers["X-Elastic-Product"] == "Elasticsearch"
    assert answer.json()["errors"] is False
    assert [item["create"]["status"] for item in answer.json()["items"]] == [201, 201]
    assert service.query(f"select n from {name} order by n") == [{"n": 1}, {"n": 2}]


def test_index_without_privilege_is_refused_by_item_and_the_others_are_stored(service: Service):
    narrow = service.make_key("es-narrow", {"privilege": "ingestor", "resource": {"dataset": "es_mine"}})
    authorization = f"ApiKey {base64.b64encode(f'id:{narrow}'.encode()).decode()}"

    answer = requests.post(
        f"{service.url}/es_mine/_bulk?filter_path=errors,items.*.status",
        data=b'{"index":{}}\n{"n":1}\n' + bulk(("es_theirs", {"n": 2}), ("select", {"n": 3})) + b'{"index":{}}\n{\n',
        headers={"Authorization": authorization},
        timeout=60,
    )

    assert answer.json() == {
        "errors": True,
        "items": [
            {"index": {"status": 201}},
            {"create": {"status": 403}},
            {"create": {"status": 400}},
            {"index": {"status": 400}},
        ],
    }
    assert service.query("select n from es_mine") == [{"n": 1}]
    assert "es_theirs" not in [each["name"] for each in service.call("GET", "/api/v1/logstream").json()]


def test_repeated_request_is_stored_once_and_answered_alike(service: Service):
    body = bulk(("es_once", {"n": 1}), ("es_once_too", {"n": 2}))

    answers = [send(service, body, headers={"Idempotency-Key": "es-1"}) for _ in range(2)]

    assert [answer.json()["errors"] for answer in answers] == [False, False]
    assert service.query("select (select count(*) from es_once) a, (select count(*) from es_once_too) b") == [
        {"a": 1, "b": 1}
    ]


def test_gzip_and_no_media_type(service: Service):
    body = gzip.compress(bulk(("es_gzip", {"n": 1})))

    assert send(service, body, headers={"Content-Encoding": "gzip", "Content-Type": ""}).json()["errors"] is False


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"", {}, 400, id="nothing"),
        pytest.param(b"garbage\n", {}, 400, id="no action"),
        pytest.param(b"x", {"Content-Encoding": "br"}, 415, id="coding"),
        pytest.param(b"", {"Authorization": "ApiKey !"}, 401, id="no base64"),
        pytest.param(b"", {"Authorization": f"ApiKey {base64.b64encode(b'a:b').decode()}"}, 401, id="wrong secret"),
    ],
)
def test_refusal_has_elasticsearchs_shape(service: Service, body: bytes, headers: dict[str, str], status: int):
    auth = {} if "Authorization" in headers else {"auth": ("admin", "correct-horse-battery-staple")}

    answer = requests.post(f"{service.url}/_bulk", data=body, headers=headers, timeout=60, **auth)

    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert {"type", "reason", "root_cause"} <= set(answer.json()["error"])
    assert answer.headers["X-Elastic-Product"] == "Elasticsearch"


@PREFIXES
@pytest.mark.parametrize(
    ("path", "members"),
    [
        ("/_license?human=false", {"license"}),
        ("/_xpack", {"features"}),
        ("/_cluster/health", {"status"}),
        ("/_index_template/filebeat-8.17.0", {"index_templates"}),
        ("/_template/logstash", {"logstash"}),
        ("/_component_template/x", {"component_templates"}),
        ("/_ilm/policy/filebeat", {"filebeat"}),
        ("/_ingest/pipeline/x", {"x"}),
        ("/_data_stream/logs", {"data_streams"}),
    ],
)
def test_probe_is_answered(service: Service, prefix: str, path: str, members: set[str]):
    answer = service.call("GET", prefix + path)

    assert answer.status_code == 200
    assert members <= set(answer.json())
    assert answer.headers["X-Elastic-Product"] == "Elasticsearch"


@pytest.mark.parametrize("path", ["/elasticsearch", "/elasticsearch/"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_root_is_that_of_elasticsearch(service: Service, method: str, path: str):
    answer = service.call(method, path, allow_redirects=False)

    assert (answer.status_code, answer.headers["X-Elastic-Product"]) == (200, "Elasticsearch")
    assert method == "HEAD" or answer.json()["version"]["number"].startswith("8.")


@pytest.mark.parametrize(
    ("headers", "is_banner"),
    [
        ({"User-Agent": "elasticsearch-py/9.1.0 (Python/3.11)"}, True),
        ({"User-Agent": "Elastic-Filebeat/8.17.0 (linux; amd64)"}, True),
        ({"User-Agent": "logstash/8.17.0 (OS=Linux) logstash-output-elasticsearch/11.22.10"}, True),
        ({"Accept": "application/vnd.elasticsearch+json; compatible-with=8"}, True),
        ({"X-Elastic-Client-Meta": "es=9.1.0,py=3.11"}, True),
        ({"User-Agent": "Grafana/12.0"}, False),
        ({"Accept": "text/html,application/xhtml+xml"}, False),
    ],
)
def test_the_base_address_answers_each_as_it_expects(service: Service, headers: dict[str, str], is_banner: bool):
    answer = service.call("GET", "/", headers=headers)

    assert answer.status_code == 200
    assert (answer.headers.get("X-Elastic-Product") == "Elasticsearch") is is_banner
    assert ("tagline" in answer.text) is is_banner
