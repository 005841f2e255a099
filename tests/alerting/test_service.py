"""Alerts from end to end: a running service, its own alerting process, a real receiver, a real Alertmanager."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from tests.alerting.receiver import Receiver, receiving
from tests.blueprints.authored import WRITER, Client, alert, entry, webhook
from tests.conftest import NewDatabase, service_environment
from tests.running import Service, free_port, wait_until

pytestmark = pytest.mark.service

ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture(scope="module")
def alerting(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that may deliver to loopback. Its alerting ends with it."""
    with new_database() as url:
        environment = service_environment(url) | {"WEIR_ALERT_ALLOWED_HOSTS": "127.0.0.1"}
        service = Service(tmp_path_factory.mktemp("alerting"), environment).start()
        service.call("PUT", "/api/v1/logstream/app").raise_for_status()
        yield service
        pids = alerting_processes(service)
        service.stop()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


@pytest.fixture
def ann(alerting: Service, request: pytest.FixtureRequest) -> Client:
    """A writer of the test's own."""
    return Client(alerting, request.node.name[:60], entry(WRITER, "app"))


def make_alert(client: Client, target: dict[str, Any], **members: Any) -> str:
    """An alert that any evaluation triggers."""
    hook = client("POST", "targets", json=target)
    assert hook.status_code == 200, hook.text
    threshold = {"operator": ">=", "value": 0}
    body = alert(f"by {client.name}", "app", thresholdConfig=threshold, targets=[hook.json()["id"]], **members)
    made = client("POST", "alerts", json=body)
    assert made.status_code == 200, made.text
    return f"alerts/{made.json()['id']}"


def make_due(service: Service) -> None:
    """Let every alert be due now; a minute is long for a test."""
    with psycopg.connect(service.environment["WEIR_DATABASE_URL"], autocommit=True) as connection:
        connection.execute("UPDATE alert SET next_run_at = now() - interval '1 minute' WHERE next_run_at IS NOT NULL")


def alerting_processes(service: Service) -> list[int]:
    """The pids of the alerting processes of this service, which runs in a session of its own."""
    assert service.process is not None
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"alerting.process" in path.read_bytes() and os.getsid(int(path.parent.name)) == service.process.pid:
                found.append(int(path.parent.name))
        except (OSError, ProcessLookupError):
            continue
    return found


def test_alert_goes_all_the_way_and_survives_the_death_of_its_process(
    alerting: Service, ann: Client, receiver: Receiver
):
    path = make_alert(ann, webhook("hook", f"{receiver.url}/s3cr3t", headers={"X-Auth": "h34der"}))

    make_due(alerting)
    (first,) = receiver.wait_for(1)
    wait_until(lambda: ann("GET", f"{path}/deliveries").json()[0]["state"] == "delivered")
    shown = ann("GET", path).json()

    assert (first.path, first.json["state"], first.json["alert"]["dataset"]) == ("/s3cr3t", "triggered", "app")
    assert (shown["state"], shown["lastValue"], shown["lastError"]) == ("triggered", 0.0, None)
    assert [each["kind"] for each in ann("GET", f"{path}/history").json()] == ["triggered"]

    (pid,) = alerting_processes(alerting)
    os.kill(pid, signal.SIGKILL)
    alerting.call("PUT", f"/api/v1/role/{ann.name}", json=[entry("reader", "app")]).raise_for_status()
    make_due(alerting)

    assert receiver.wait_for(2)[1].json["state"] == "disabled"
    assert "needs the privilege writer on dataset app" in ann("GET", path).json()["disabledReason"]
    assert [secret for secret in ("s3cr3t", "h34der") if secret in alerting.log.read_text()] == []


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    """The URL of a real Alertmanager, from Debian's package prometheus-alertmanager."""
    if ALERTMANAGER is None:
        pytest.skip("no Alertmanager here: apt-get install prometheus-alertmanager")
    configuration = tmp_path / "alertmanager.yml"
    configuration.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    port = free_port()
    command = [ALERTMANAGER, f"--config.file={configuration}", f"--storage.path={tmp_path}/data"]
    with (tmp_path / "alertmanager.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="], stdout=log, stderr=log
        )
    try:
        wait_until(lambda: _is_ready(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def _is_ready(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/-/ready", timeout=30).ok
    except requests.ConnectionError:
        return False


def test_alertmanager_shows_the_alert_while_it_lasts(alerting: Service, ann: Client, alertmanager: str):
    target = {"name": "am", "type": "alertManager", "endpoint": alertmanager}
    path = make_alert(ann, target, severity="critical")

    def firing() -> list[Any]:
        return requests.get(f"{alertmanager}/api/v2/alerts", timeout=30).json()

    make_due(alerting)
    wait_until(lambda: len(firing()) == 1)
    labels = firing()[0]["labels"]
    changed = ann("GET", path).json() | {"thresholdConfig": {"operator": "<", "value": 0}}
    assert ann("PUT", path, json=changed).status_code == 200
    make_due(alerting)

    assert {name: labels[name] for name in ("alertname", "severity", "dataset", "alert_id")} == {
        "alertname": f"by {ann.name}",
        "severity": "critical",
        "dataset": "app",
        "alert_id": path.removeprefix("alerts/"),
    }
    wait_until(lambda: firing() == [])
    assert [each["kind"] for each in ann("GET", f"{path}/history").json()] == ["not-triggered", "triggered"]
