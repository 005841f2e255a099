"""collectd's write_http plugin, from Debian: arrays with nulls in them, and numbers of every kind."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.running import Service

WAIT_SECONDS = 60
CONFIGURATION = """
Hostname "test-host"
FQDNLookup false
Interval 0.5
BaseDir "{folder}"
PIDFile "{folder}/collectd.pid"
PluginDir "/usr/lib/collectd"
TypesDB "/usr/share/collectd/types.db"
LoadPlugin load
LoadPlugin memory
LoadPlugin cpu
LoadPlugin write_http
<Plugin write_http>
  <Node "weir">
    URL "{url}/api/v1/ingest"
    Format "JSON"
    StoreRates true
    Header "X-API-Key: {key}"
    Header "X-P-Stream: collectd"
    Header "X-P-Time-Partition: time"
    BufferSize 4096
  </Node>
</Plugin>
"""

pytestmark = pytest.mark.skipif(
    not shutil.which("collectd") or not Path("/usr/lib/collectd/write_http.so").exists(),
    reason="collectd with write_http is not installed",
)


def test_measurements_arrive_with_their_arrays_and_nulls(service: Service, tmp_path: Path):
    key = service.make_key("collectd", {"privilege": "ingestor", "resource": {"dataset": "collectd"}})
    configuration = tmp_path / "collectd.conf"
    configuration.write_text(CONFIGURATION.format(folder=tmp_path, url=service.url, key=key))
    daemon = subprocess.Popen(["collectd", "-f", "-C", str(configuration)])
    try:
        plugins = _wait_for_plugins(service)
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)

    assert {"load", "memory", "cpu"} <= plugins
    assert service.call("GET", "/api/v1/logstream/collectd/info").json()["timePartition"] == "time"
    (row,) = service.query("SELECT * FROM collectd WHERE plugin = 'load' LIMIT 1")
    assert (row["host"], row["dsnames"]) == ("test-host", ["shortterm", "midterm", "longterm"])
    # The column itself or a sibling: whose values came first, integers, floats or nulls, depends on collectd.
    (values,) = [value for name, value in row.items() if name.startswith("values") and value is not None]
    assert len(values) == 3


def _wait_for_plugins(service: Service) -> set[str]:
    plugins: set[str] = set()
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline and not {"load", "memory", "cpu"} <= plugins:
        time.sleep(0.5)
        answer = service.call("POST", "/api/v1/query", json={"query": "SELECT DISTINCT plugin FROM collectd"})
        if answer.status_code == 200:
            plugins = {row["plugin"] for row in answer.json()}
    return plugins
