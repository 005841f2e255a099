"""Prometheus that scrapes itself and writes to the service, through a proxy that adds the headers.

Debian's Prometheus 2.42 takes `headers` in its configuration and does not send them, hence nginx.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.running import Service, free_port

SCRAPE_SECONDS = 30
DRAIN_SECONDS = 40

NGINX = """
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
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass {target};
      proxy_set_header X-API-Key {key};
      proxy_set_header X-P-Stream prometheus;
      proxy_set_header X-P-Log-Source otel-metrics;
    }}
  }}
}}
"""
PROMETHEUS = """
global:
  scrape_interval: 1s
remote_write:
  - url: http://127.0.0.1:{proxy}/v1/prometheus/write
scrape_configs:
  - job_name: self
    static_configs:
      - targets: [{targets}]
"""


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def proxy(service: Service, ingest_key: str, tmp_path: Path) -> Iterator[int]:
    """The port of a proxy that adds what Debian's Prometheus leaves out."""
    if not shutil.which("nginx") or not shutil.which("prometheus"):
        pytest.skip("prometheus and nginx are not installed (Debian: apt-get install prometheus nginx)")
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, port=port, target=service.url, key=ingest_key))
    # Its workers run as another account and keep large bodies in files.
    for name in (tmp_path, *tmp_path.parents[:2]):
        name.chmod(0o755)
    with running(["nginx", "-c", str(config)], tmp_path / "nginx.out"):
        yield port


class Prometheus:
    """A running Prometheus with its data in `folder`."""

    def __init__(self, folder: Path, proxy: int) -> None:
        self.port = free_port()
        self._proxy = proxy
        self._config = folder / "prometheus.yml"
        self.command = [
            "prometheus",
            f"--config.file={self._config}",
            f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--web.enable-lifecycle",
        ]

    def configure(self, *targets: str) -> None:
        self._config.write_text(PROMETHEUS.format(proxy=self._proxy, targets=", ".join(targets)))

    def reload(self) -> None:
        requests.post(f"http://127.0.0.1:{self.port}/-/reload", timeout=10).raise_for_status()

    def counter(self, name: str) -> float:
        """The sum of a metric of its own over all its series."""
        text = requests.get(f"http://127.0.0.1:{self.port}/metrics", timeout=10).text
        lines = (line for line in text.splitlines() if line.startswith((name + "{", name + " ")))
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def wait_until_drained(self) -> float:
        """The number of samples sent, when nothing more is waiting for some seconds."""
        deadline = time.monotonic() + DRAIN_SECONDS
        sent, since = -1.0, time.monotonic()
        while time.monotonic() < deadline:
            now = self.counter("prometheus_remote_storage_samples_total")
            if now != sent or self.counter("prometheus_remote_storage_samples_pending"):
                sent, since = now, time.monotonic()
            elif time.monotonic() - since > 7:  # longer than it waits for a full batch
                return sent
            time.sleep(0.5)
        raise AssertionError("Prometheus does not come to rest")


def test_every_sample_that_prometheus_sent_is_a_row(service: Service, proxy: int, tmp_path: Path):
    """Spec 4.2: scrapes, metadata requests, NaN and stale markers; the sender's own count is the judge."""
    prometheus = Prometheus(tmp_path, proxy)
    prometheus.configure(f'"127.0.0.1:{prometheus.port}"')

    with running(prometheus.command, tmp_path / "prometheus.log"):
        time.sleep(SCRAPE_SECONDS)
        prometheus.configure()
        prometheus.reload()
        sent = prometheus.wait_until_drained()
        lost = prometheus.counter("prometheus_remote_storage_samples_failed_total")
        retried = prometheus.counter("prometheus_remote_storage_samples_retried_total")

    (found,) = service.query(
        "select count(*) as rows, sum(case when is_stale then 1 else 0 end) as stale,"
        " sum(case when is_stale and data_point_value is not null then 1 else 0 end) as wrong from prometheus"
    )
    assert (lost, retried) == (0, 0)
    assert sent > 1000
    assert found["rows"] == sent
    assert found["stale"] > 0
    assert found["wrong"] == 0
