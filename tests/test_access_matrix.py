"""Who may do what, route by route (api.md section 2). A route that is missing here fails the run."""

from pathlib import Path
from typing import Any

import pytest
import requests

from app import create_app
from blueprints import elasticsearch
from config import Settings
from tests.running import Service

pytestmark = pytest.mark.each_stack

# What each identity gets, in the order of IDENTITIES: none, wrong key, ingestor, reader, writer, admin.
# "ok" is any status that is neither 401 nor 403: the caller was let through to the handler.
IDENTITIES = ("none", "wrong", "ingestor", "reader", "writer", "admin")
EVERYBODY = ("ok", "ok", "ok", "ok", "ok", "ok")
ANY_IDENTITY = (401, 401, "ok", "ok", "ok", "ok")
INGEST = (401, 401, "ok", 403, 403, "ok")
READ = (401, 401, 403, "ok", "ok", "ok")
AUTHOR = (401, 401, 403, 403, "ok", "ok")
ADMIN = (401, 401, 403, 403, 403, "ok")

KEYS = [f"/api/{prefix}/apikeys" for prefix in ("console/v1", "v1", "prism/v1")]
AUTHORED = ("dashboards", "filters", "alerts", "targets")
PROMETHEUS = """query query_range query_exemplars series labels read format_query parse_query cardinality/label_names
    cardinality/label_values cardinality/active_series""".split()
MATRIX: dict[tuple[str, str], tuple[Any, ...]] = {
    ("GET", "/"): EVERYBODY,
    ("GET", "/console/<path:name>"): EVERYBODY,
    ("GET", "/api/v1/liveness"): EVERYBODY,
    ("GET", "/api/v1/readiness"): EVERYBODY,
    # For other hosts, by their signature; no user's credential counts.
    ("POST", "/api/v1/internal/hosts/<node>/segments"): (401,) * len(IDENTITIES),
    ("POST", "/api/v1/internal/hosts/<node>/copies/<owner>/<segment>/<int:offset>"): (401,) * len(IDENTITIES),
    ("GET", "/api/v1/about"): ANY_IDENTITY,
    ("GET", "/api/v1/metrics"): READ,
    ("GET", "/api/v1/openapi.json"): EVERYBODY,
    ("POST", "/api/v1/ingest"): INGEST,
    ("POST", "/api/v1/logstream/<name>"): INGEST,
    **{("POST", f"/v1/{path}"): INGEST for path in ("logs", "metrics", "traces", "prometheus/write")},
    ("POST", "/loki/api/v1/push"): INGEST,
    **{
        (method, f"{prefix}{index}/_bulk"): INGEST
        for method in ("POST", "PUT")
        for prefix in ("", "/elasticsearch")
        for index in ("", "/<name>")
    },
    **{("GET", f"/elasticsearch{slash}"): ANY_IDENTITY for slash in ("", "/")},
    **{
        ("GET", f"{prefix}/{probe}"): ANY_IDENTITY
        for prefix in ("", "/elasticsearch")
        for probe in ("_license", "_xpack", "_cluster/health")
    },
    **{
        (method, f"{prefix}/{kind}/<name>"): ANY_IDENTITY
        for method in ("GET", "PUT", "POST")
        for prefix in ("", "/elasticsearch")
        for kind in elasticsearch.KINDS
    },
    **{("POST", f"/services/collector{part}"): INGEST for part in ("", "/event", "/event/1.0", "/raw", "/raw/1.0")},
    **{("POST", f"/services/collector/ack{part}"): ANY_IDENTITY for part in ("", "/1.0")},
    **{("GET", f"/services/collector/health{part}"): EVERYBODY for part in ("", "/1.0")},
    # What a caller may not read does not exist for it, so everybody gets an answer that is not 403.
    # Open to all who have a grant, which an empty body has not: 400.
    ("POST", "/iceberg/v1/oauth/tokens"): EVERYBODY,
    **{
        ("GET", f"/iceberg/v1/{path}"): ANY_IDENTITY
        for path in ("config", "namespaces", "namespaces/<namespace>", "namespaces/<namespace>/tables", "<path:path>")
    },
    **{
        ("GET", f"/iceberg/v1/namespaces/<namespace>/tables/<name>{part}"): ANY_IDENTITY
        for part in ("", "/credentials")
    },
    **{(method, "/iceberg/v1/<path:path>"): ANY_IDENTITY for method in ("POST", "PUT", "PATCH", "DELETE")},
    **{
        (method, f"/prometheus{dataset}/api/v1/{path}"): READ
        for dataset in ("", "/<name>")
        for path in PROMETHEUS
        for method in ("GET", "POST")
    },
    **{
        ("GET", f"/prometheus{dataset}/api/v1/{path}"): READ
        for dataset in ("", "/<name>")
        for path in ("label/<label>/values", "metadata", "rules", "alerts", "status/buildinfo", "status/tsdb")
    },
    ("GET", "/api/v1/logstream"): READ,
    ("GET", "/api/prism/v1/home"): READ,
    ("POST", "/api/v1/query"): READ,
    **{(method, "/api/v1/tail"): READ for method in ("GET", "POST")},
    ("POST", "/api/v1/counts"): READ,
    ("GET", "/api/v1/session"): ANY_IDENTITY,
    ("GET", "/api/v1/session/datasets"): READ,
    ("GET", "/api/v1/hosts"): ADMIN,
    ("GET", "/api/v1/saved-queries"): READ,
    ("POST", "/api/v1/saved-queries"): READ,
    ("DELETE", "/api/v1/saved-queries/<query_id>"): READ,
    ("GET", "/api/v1/queries"): READ,
    ("GET", "/api/v1/queries/slow"): READ,
    ("DELETE", "/api/v1/queries/<query_id>"): READ,
    ("PUT", "/api/v1/logstream/<name>"): ADMIN,
    ("DELETE", "/api/v1/logstream/<name>"): ADMIN,
    ("POST", "/api/v1/logstream/schema/detect"): READ,
    **{("GET", f"/api/v1/logstream/<name>/{part}"): READ for part in ("schema", "stats", "info", "retention")},
    ("PUT", "/api/v1/logstream/<name>/retention"): ADMIN,
    **{(method, "/api/v1/logstream/<name>/text-index"): ADMIN for method in ("GET", "PUT")},
    **{(method, "/api/v1/logstream/<name>/deduplication"): ADMIN for method in ("GET", "PUT")},
    ("PUT", "/api/v1/logstream/<name>/event-time"): ADMIN,
    ("GET", "/api/v1/logstream/<name>/columns"): ADMIN,
    ("GET", "/api/v1/logstream/<name>/senders"): ADMIN,
    ("DELETE", "/api/v1/logstream/<name>/columns/<column_id>"): ADMIN,
    # One tenant: even the administrator gets a 400.
    **{(method, "/api/v1/tenants/<tenant_id>"): ADMIN for method in ("GET", "PUT", "DELETE")},
    ("GET", "/api/v1/tenants"): ADMIN,
    # Where browsers begin, without a credential or with a user's Basic; a key opens no session.
    ("GET", "/api/v1/o/login"): ("ok", 401, 403, 403, 403, 403),
    **{("GET", f"/api/v1/o/{step}"): EVERYBODY for step in ("code", "logout")},
    **{("GET", f"/api/v1/{path}"): ADMIN for path in ("role", "roles", "role/default", "role/<name>", "user", "users")},
    **{("PUT", f"/api/v1/{path}"): ADMIN for path in ("role/default", "role/<name>", "user/<name>/role")},
    ("DELETE", "/api/v1/role/<name>"): ADMIN,
    # A user may look at itself; these keys look at another.
    ("GET", "/api/v1/users/<name>"): ADMIN,
    ("GET", "/api/v1/user/<name>/role"): ADMIN,
    ("POST", "/api/v1/user/<name>"): ADMIN,
    ("DELETE", "/api/v1/user/<name>"): ADMIN,
    ("POST", "/api/v1/user/<name>/generate-new-password"): ADMIN,
    ("PATCH", "/api/v1/user/<name>/role/add"): ADMIN,
    ("PATCH", "/api/v1/user/<name>/role/remove"): ADMIN,
    **{("GET", f"/api/v1/{kind}"): READ for kind in AUTHORED},
    **{("POST", f"/api/v1/{kind}"): AUTHOR for kind in AUTHORED},
    **{("GET", f"/api/v1/{kind}/<{kind[:-1]}_id>"): READ for kind in AUTHORED},
    **{(method, f"/api/v1/{kind}/<{kind[:-1]}_id>"): AUTHOR for kind in AUTHORED for method in ("PUT", "DELETE")},
    ("POST", "/api/v1/targets/<target_id>/test"): AUTHOR,
    ("GET", "/api/v1/dashboards/list_tags"): READ,
    ("GET", "/api/v1/dashboards/<dashboard_id>/data"): READ,
    ("PUT", "/api/v1/dashboards/<dashboard_id>/add_tile"): AUTHOR,
    ("GET", "/api/v1/alerts/list_tags"): READ,
    ("GET", "/api/v1/alerts/<alert_id>/history"): READ,
    ("GET", "/api/v1/alerts/<alert_id>/deliveries"): READ,
    ("PUT", "/api/v1/alerts/<alert_id>/evaluate_alert"): AUTHOR,
    ("PATCH", "/api/v1/alerts/<alert_id>/disable"): AUTHOR,
    ("PATCH", "/api/v1/alerts/<alert_id>/enable"): AUTHOR,
    ("PATCH", "/api/v1/alerts/<alert_id>/update_notification_state"): AUTHOR,
    **{("POST", path): ADMIN for path in KEYS},
    **{("GET", path): ADMIN for path in KEYS},
    **{("GET", f"{path}/<key_id>"): ADMIN for path in KEYS},
    **{("DELETE", f"{path}/<key_id>"): ADMIN for path in KEYS},
}
PRIVILEGED = ("ingestor", "reader", "writer", "admin")


@pytest.fixture(scope="module")
def keys(service: Service) -> dict[str, str]:
    """A key for each identity, over all datasets."""
    made = {name: service.make_key(f"matrix-{name}", {"privilege": name}) for name in PRIVILEGED}
    return {**made, "wrong": "00000000-0000-4000-8000-000000000000"}


def test_every_route_is_in_the_matrix(tmp_path: Path):
    rules = create_app(Settings(data_dir=tmp_path)).url_map.iter_rules()

    routes = {(method, rule.rule) for rule in rules for method in rule.methods or ()}

    assert {(method, rule) for method, rule in routes if method not in ("HEAD", "OPTIONS")} == set(MATRIX)


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize(("method", "rule"), sorted(MATRIX), ids=lambda value: value)
def test_route_lets_in_whom_it_should(service: Service, keys: dict[str, str], method: str, rule: str, identity: str):
    expected = MATRIX[method, rule][IDENTITIES.index(identity)]
    headers = {"X-P-Stream": "matrix", "Content-Type": "application/json"}
    if identity in keys:
        headers["X-API-Key"] = keys[identity]

    answer = requests.request(
        method, service.url + _filled(rule), headers=headers, data=b"" if method == "GET" else b"[]", timeout=30
    )

    assert answer.status_code < 500, answer.text
    assert (answer.status_code if answer.status_code in (401, 403) else "ok") == expected, answer.text
    if answer.status_code in (401, 403):
        assert _has_its_error_shape(rule, answer)
        assert ("WWW-Authenticate" in answer.headers) == (answer.status_code == 401)


def _has_its_error_shape(rule: str, answer: requests.Response) -> bool:
    """OTLP answers with google.rpc.Status, remote write and Loki with text, Splunk and Elasticsearch in their way."""
    if rule in ("/v1/prometheus/write", "/loki/api/v1/push"):
        return answer.headers["Content-Type"].startswith("text/plain") and bool(answer.text.strip())
    if rule.endswith("/_bulk"):
        return answer.json()["status"] == answer.status_code and {"type", "reason"} <= set(answer.json()["error"])
    if rule.startswith("/iceberg/") and not rule.endswith("/oauth/tokens"):
        return set(answer.json()["error"]) == {"message", "type", "code"}
    if rule.startswith("/services/collector") and not rule.startswith("/services/collector/ack"):
        return set(answer.json()) >= {"text", "code"}
    if rule.startswith("/prometheus"):
        return set(answer.json()) == {"status", "errorType", "error"} and answer.json()["status"] == "error"
    members = {"code", "message"} if rule.startswith("/v1/") else {"code", "message", "requestId"}
    return set(answer.json()) >= members


def _filled(rule: str) -> str:
    return (
        rule.replace("<name>", "matrix-none")
        .replace("<column_id>", "1")
        .replace("<path:name>", "main.js")
        .replace("<tenant_id>", "matrix-none")
        .replace("<int:offset>", "0")
        .replace("<key_id>", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    )
