"""The files of deploy/ at work: a real nginx before a running service, Grafana's questions as it would ask them."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests

from tests.alerting.mail_server import make_certificate
from tests.running import ADMIN, ROOT, Service, free_port

pytestmark = pytest.mark.service

DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "dashboards" / "events.json").read_text("utf-8"))
AROUND = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  include {folder}/weir.conf;
}}
"""


@pytest.fixture
def nginx(service: Service, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The ports, plain and TLS, of an nginx with deploy/nginx.conf before the service."""
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    plain, tls, certificate = free_port(), free_port(), make_certificate(tmp_path)
    text = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace("listen 443", f"listen 127.0.0.1:{tls}")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{service.port}")
    text = re.sub(r"/etc/ssl/(certs|private)/weir.example.(pem|key)", str(certificate), text)
    (tmp_path / "weir.conf").write_text(text)
    (tmp_path / "nginx.conf").write_text(AROUND.format(folder=tmp_path))
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    process = subprocess.Popen(["nginx", "-c", str(tmp_path / "nginx.conf")])
    try:
        _wait_until_it_listens(plain)
        yield plain, tls
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_until_it_listens(port: int) -> None:
    for _ in range(100):
        try:
            requests.get(f"http://127.0.0.1:{port}/", allow_redirects=False, timeout=5)
            return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError("nginx does not listen")


def ask(port: int, path: str, **arguments: object) -> requests.Response:
    return requests.post(f"https://127.0.0.1:{port}{path}", auth=ADMIN, verify=False, timeout=30, **arguments)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_proxy_serves_under_tls_only_and_refuses_as_weir_does(nginx: tuple[int, int]):
    plain, tls = nginx

    redirect = requests.get(f"http://127.0.0.1:{plain}/api/v1/about?a=b", allow_redirects=False, timeout=30)
    stored = ask(tls, "/api/v1/ingest", json=[{"n": 1}], headers={"X-P-Stream": "behind_nginx"})
    large = ask(tls, "/api/v1/ingest", data=b"[" + b" " * 17_000_000 + b"]", headers={"X-P-Stream": "behind_nginx"})
    inner = ask(tls, "/api/v1/internal/anything")

    assert (redirect.status_code, redirect.headers["Location"]) == (301, "https://127.0.0.1/api/v1/about?a=b")
    assert (stored.status_code, stored.json()["events"]) == (200, 1)
    assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
    assert large.headers["Content-Type"] == "application/json"
    assert inner.status_code == 404


def test_dashboard_shows_events_by_level(service: Service):
    """What its title says, in as many points as fit on the screen."""
    service.ingest("dashboard", [{"level": "error"}, {"level": "info"}, {"level": "info"}, {"other": 1}])
    events, latest = DASHBOARD["panels"]

    rows = _asked(service, events)

    assert {row["level"]: row["events"] for row in rows} == {"error": 1, "info": 2, "none": 1}
    assert {column["selector"] for column in events["targets"][0]["columns"]} == set(rows[0])
    assert len({row["time"] for row in rows}) == 1
    assert len(_asked(service, latest)) == 4
    assert all(target["parser"] == "backend" for panel in DASHBOARD["panels"] for target in panel["targets"])


def _asked(service: Service, panel: dict[str, object]) -> list[dict[str, object]]:
    """The answer to a panel's question, with what Grafana puts in for its variables."""
    (target,) = panel["targets"]  # type: ignore[misc]
    now = datetime.now(UTC)
    values = {
        "dataset": "dashboard",
        "level": "level",
        "time": "p_timestamp",
        "__interval_ms": "86400000",
        "__from:date:iso": (now - timedelta(hours=6)).isoformat(),
        "__to:date:iso": (now + timedelta(minutes=1)).isoformat(),
    }
    text = re.sub(r"\$\{([^}]+)\}", lambda found: values[found[1]], target["url_options"]["data"])
    answer = service.call("POST", target["url"], json=json.loads(text))
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, object]] = answer.json()
    return rows
