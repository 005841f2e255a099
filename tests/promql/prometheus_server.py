"""A real Prometheus of version 3 to compare with, on loopback, without anything to scrape.

`PROMETHEUS_BINARY` names the program, and is taken at its word; else the one in the path, if it is new enough.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.running import free_port


def program() -> str | None:
    """Where a Prometheus 3 is, if anywhere."""
    if named := os.environ.get("PROMETHEUS_BINARY"):
        return named
    found = shutil.which("prometheus")
    if not found:
        return None
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=30)
    version = re.search(r"version (\d+)\.", told.stdout + told.stderr)
    return found if version and int(version[1]) >= 3 else None


@contextmanager
def prometheus(executable: str, reads: str = "") -> Iterator[str]:
    """Its address, while it runs. `reads`: a part of its configuration, about other servers that it reads from."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "prometheus.yml"
        config.write_text("global: {scrape_interval: 15s}\nstorage: {exemplars: {max_exemplars: 100000}}\n" + reads)
        address = f"127.0.0.1:{free_port()}"
        command = [executable, f"--config.file={config}", f"--storage.tsdb.path={directory}/data"]
        command += [f"--web.listen-address={address}", "--web.enable-remote-write-receiver"]
        command += ["--enable-feature=exemplar-storage", "--log.level=error"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _wait(f"http://{address}", process)
                yield f"http://{address}"
            finally:
                process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if requests.get(f"{url}/-/ready", timeout=2).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.1)
    raise RuntimeError("Prometheus did not start")
