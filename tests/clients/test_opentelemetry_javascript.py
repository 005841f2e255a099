"""The OpenTelemetry JavaScript exporters from npm: they send chunked bodies, and numbers where others send text."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running import Service

SOURCES = Path(__file__).parent / "javascript"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sender and what it needs."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("javascript")
    for name in ("package.json", "send.js"):
        shutil.copy(SOURCES / name, folder)
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        pytest.skip("npm install took more than three minutes")
    if installed.returncode:
        pytest.skip(f"npm cannot install the exporters: {installed.stderr[-300:]}")
    return folder


@pytest.mark.parametrize(
    ("encoding", "compression"), [("http", "none"), ("http", "gzip"), ("proto", "none"), ("proto", "gzip")]
)
def test_all_signals_arrive(service: Service, ingest_key: str, project: Path, encoding: str, compression: str):
    """`http` is JSON."""
    prefix = f"javascript_{encoding}_{compression}"

    sent = subprocess.run(
        ["node", "send.js", service.url, encoding, compression, prefix, ingest_key],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (sent.returncode, sent.stderr) == (0, "")
    assert service.query(f'select body, severity_text, n, ratio, ok, list, "service.name" from {prefix}_logs') == [
        {
            "body": "hello",
            "severity_text": "INFO",
            "n": 5,
            "ratio": 0.5,
            "ok": True,
            "list": ["a", "b"],
            "service.name": "shop",
        }
    ]
    spans = service.query(f"select span_name, span_kind_description, events from {prefix}_traces")
    assert [(span["span_name"], span["span_kind_description"]) for span in spans] == [("work", "SERVER")]
    assert [(event["name"], event["attributes"]) for event in spans[0]["events"]] == [("retry", {"attempt": 2})]
    assert service.query(f"select data_point_value, route, is_monotonic from {prefix}_metrics order by route") == [
        {"data_point_value": 3.0, "route": "/a", "is_monotonic": True},
        {"data_point_value": 4.0, "route": "/b", "is_monotonic": True},
    ]
