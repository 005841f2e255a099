"""A disk that fills up under the service (api.md section 4): nothing acknowledged is lost, and it goes on by itself."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import service_environment
from tests.running import Service

SIZE_MIB = 48


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of SIZE_MIB."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "tmpfs", str(tmp_path)])
    if mounted.returncode:
        pytest.skip("this machine does not allow mounting")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.mark.parametrize(
    ("high", "low", "codes"),
    [("80", "60", {"disk_full", "storage_unavailable"}), ("100", "100", {"disk_full", "storage_unavailable"})],
    ids=["at the high-water mark", "at the very end"],
)
def test_a_full_disk_loses_nothing_and_ingestion_resumes(
    database_url: str, small_disk: Path, high: str, low: str, codes: set[str]
):
    marks = {"WEIR_DISK_HIGH_WATER_PERCENT": high, "WEIR_DISK_LOW_WATER_PERCENT": low}
    service = Service(small_disk, service_environment(database_url) | marks, workers=1).start()
    try:
        acknowledged, refusal = _fill(service)
        counted = service.query("SELECT count(*) AS n, count(DISTINCT id) AS u FROM disk")

        (small_disk / "ballast").unlink()
        again = _until_accepted(service, acknowledged)
        at_last = service.query("SELECT count(*) AS n, count(DISTINCT id) AS u FROM disk")
    finally:
        service.stop()

    assert refusal.status_code == 503
    assert refusal.json()["code"] in codes
    assert int(refusal.headers["Retry-After"]) > 0
    assert counted == [{"n": acknowledged, "u": acknowledged}]
    assert at_last == [{"n": again, "u": again}]


def test_a_disk_without_one_free_block_kills_no_worker_and_is_read_from(database_url: str, small_disk: Path):
    """Counters and lists of queries are files too; a mapped page without a block would be the worker's end (SIGBUS)."""
    service = Service(small_disk, service_environment(database_url), workers=2).start()
    try:
        _ingest(service, 0).raise_for_status()
        _take_all_room(small_disk)

        # Requests of many kinds, so that values are counted that were not counted before.
        for number in range(20):
            assert service.query(f"SELECT count(*) AS n, {number} AS i FROM disk") == [{"n": 100, "i": number}]
            assert service.call("GET", "/api/v1/liveness").status_code == 200
            assert service.call("GET", "/api/v1/readiness").status_code in (200, 503)
            assert service.call("GET", "/api/v1/metrics").status_code == 200
            assert service.call("GET", f"/api/v1/nowhere/{number}").status_code == 404
            assert service.call("GET", "/api/v1/logstream/disk/stats").status_code == 200
        assert _ingest(service, 100).status_code == 503
        said = service.log.read_text()

        (small_disk / "ballast").unlink()
        _until_accepted(service, 100)
    finally:
        service.stop()

    assert "SIGBUS" not in said
    assert said.count("Booting worker") == 2


def _take_all_room(disk: Path) -> None:
    """Everything, to the last block."""
    with (disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(b"x" * 4096)


def _fill(service: Service) -> tuple[int, object]:
    """Ingest beside a ballast until the first refusal; how many events were acknowledged, and the refusal.

    Use is not measured for every request, so what is left may be full before the mark is noticed.
    """
    acknowledged = 0
    _ingest(service, acknowledged).raise_for_status()
    acknowledged += 100
    # What is left after the ballast fills up quickly, and there is something to delete afterwards.
    free = shutil.disk_usage(service.data_dir).free
    (service.data_dir / "ballast").write_bytes(b"x" * (free - 6 * 1024 * 1024))
    while True:
        answer = _ingest(service, acknowledged)
        if answer.status_code != 200:
            return acknowledged, answer
        acknowledged += 100


def _ingest(service: Service, first: int):
    return service.ingest(
        "disk", [{"id": first + number, "text": f"{first + number:x}" * 100} for number in range(100)]
    )


def _until_accepted(service: Service, acknowledged: int) -> int:
    """Try until the service takes events again; how many are acknowledged then."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if _ingest(service, acknowledged).status_code == 200:
            return acknowledged + 100
        time.sleep(0.5)
    raise AssertionError("ingestion did not resume")
