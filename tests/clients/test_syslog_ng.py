"""syslog-ng's http() destination, from Debian, with its batches and two workers: every line arrives once."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.running import Service, free_port

LINES = 1000
WAIT_SECONDS = 60
CONFIGURATION = """
@version: 3.38
options {{ stats-freq(0); }};
source s_lines {{ network(ip("127.0.0.1") port({port}) transport("tcp") flags(no-parse)); }};
destination d_weir {{ http(
  url("{url}/api/v1/ingest") method("POST")
  headers("Content-Type: application/json", "X-API-Key: {key}", "X-P-Stream: syslog_ng", "X-P-Time-Partition: ISODATE")
  body-prefix("[") delimiter(",") body-suffix("]")
  batch-lines(100) batch-timeout(200) workers(2)
  body("$(format-json --scope rfc5424 --scope nv-pairs --key ISODATE)")
); }};
log {{ source(s_lines); destination(d_weir); }};
"""

pytestmark = pytest.mark.skipif(
    not shutil.which("syslog-ng") or not list(Path("/usr/lib/syslog-ng").glob("*/libhttp.so")),
    reason="syslog-ng with its http module is not installed",
)


def test_every_line_arrives_once(service: Service, tmp_path: Path):
    port = free_port()
    key = service.make_key("syslog-ng", {"privilege": "ingestor", "resource": {"dataset": "syslog_ng"}})
    configuration = tmp_path / "syslog-ng.conf"
    configuration.write_text(CONFIGURATION.format(port=port, url=service.url, key=key))
    files = [f"--{name}={tmp_path / name}" for name in ("persist-file", "pidfile", "control")]
    daemon = subprocess.Popen(["syslog-ng", "-F", "--no-caps", "-f", str(configuration), *files])
    try:
        _send(port, [f'line {number} with "quotes" and \\ and é' for number in range(LINES)])

        counted = _wait_for(service, 'SELECT count(*) AS n, count(DISTINCT "MESSAGE") AS u FROM syslog_ng')
    finally:
        daemon.terminate()
        daemon.wait(timeout=20)

    assert counted == {"n": LINES, "u": LINES}
    (row,) = service.query("""SELECT "MESSAGE" AS m FROM syslog_ng WHERE "MESSAGE" LIKE 'line 7 %'""")
    assert row["m"] == 'line 7 with "quotes" and \\ and é'
    assert service.call("GET", "/api/v1/logstream/syslog_ng/info").json()["timePartition"] == "ISODATE"


def _send(port: int, lines: list[str]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall("".join(f"{line}\n" for line in lines).encode())
                return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _wait_for(service: Service, sql: str) -> dict[str, int]:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        answer = service.call("POST", "/api/v1/query", json={"query": sql})
        if answer.status_code == 200 and answer.json()[0]["n"] >= LINES:
            break
        time.sleep(0.3)
    return answer.json()[0]
