"""rsyslog, from Debian, writes its lines by the template of the manual; they are sent as its omhttp would.

Debian 12 has no omhttp, so this proves the template and the headers of the recipe, and not the module.
"""

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.running import ROOT, Service, free_port

RECIPE = (ROOT / "docs" / "ingesting.md").read_text("utf-8").partition("## rsyslog")[2].partition("## collectd")[0]
CONFIGURATION = """
global(workDirectory="{folder}")
module(load="imtcp")
input(type="imtcp" port="{port}" address="127.0.0.1")
{template}
action(type="omfile" file="{folder}/lines" template="weir")
"""
LINE = '<131>1 2026-11-14T10:00:00.25Z web-1 app 7 - - paid "twice" \\ é'
WAIT_SECONDS = 30
JSON = {"Content-Type": "application/json"}

pytestmark = pytest.mark.skipif(
    not shutil.which("rsyslogd"), reason="rsyslog is not installed (Debian: instead of syslog-ng)"
)


def test_line_by_the_template_of_the_manual_is_an_event_of_its_own_time(service: Service, tmp_path: Path):
    headers = dict(each.split(": ") for each in re.findall(r'"(X-P-[^"]+)"', RECIPE))

    written = _written(tmp_path)
    sent = service.call("POST", "/api/v1/ingest", data=f"[{written}]".encode(), headers=headers | JSON)

    assert (sent.status_code, sent.json()["events"]) == (200, 1), sent.text
    found = service.query(
        "SELECT host, severity, program, message FROM rsyslog",
        startTime="2026-11-14T10:00:00Z",
        endTime="2026-11-14T10:00:01Z",
    )
    assert found == [{"host": "web-1", "severity": "err", "program": "app", "message": 'paid "twice" \\ é'}]


def _written(folder: Path) -> str:
    """What rsyslog makes of the line."""
    port, (template,) = free_port(), re.findall(r"^template\(.*?^}", RECIPE, re.DOTALL | re.MULTILINE)
    text = CONFIGURATION.format(template=template, folder=folder, port=port)
    (folder / "rsyslog.conf").write_text(text)
    daemon = subprocess.Popen(["rsyslogd", "-n", "-f", str(folder / "rsyslog.conf"), "-i", str(folder / "pid")])
    try:
        _send(port)
        return _read(folder / "lines")
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)


def _send(port: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(f"{LINE}\n".encode())
                return
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def _read(path: Path) -> str:
    deadline = time.monotonic() + WAIT_SECONDS
    while not (path.exists() and path.read_text("utf-8").strip()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return path.read_text("utf-8").strip()
