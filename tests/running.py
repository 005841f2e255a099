"""A real Weir: gunicorn in processes of its own on loopback, as a user would start it."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).parent.parent
ADMIN = ("admin", "correct-horse-battery-staple")
START_SECONDS = 60
PR_SET_PDEATHSIG = 1
# Of the processes that pytest-xdist runs tests in: which one this is, and how many there are.
TEST_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
TEST_PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
# Set before each test (tests/conftest.py): whether it has the mark by which it is left out of `make quick`.
service_allowed = True


def free_port() -> int:
    """A port that nobody listens on, and that no other process of this test run will be given."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        # In twos, because the kernel prefers odd ports.
        if port // 2 % TEST_PROCESSES == TEST_PROCESS:
            return port


@dataclass
class Service:
    """One gunicorn with its workers. `environment` holds the WEIR_* variables it was started with."""

    data_dir: Path
    environment: Mapping[str, str]
    workers: int = 2
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.data_dir / "gunicorn.log"

    def start(self) -> "Service":
        """Start and wait until the service says that it is ready."""
        assert service_allowed, "a test that starts a service needs `pytest.mark.service`"
        command = [sys.executable, "-m", "gunicorn", "wsgi:app", "--bind", f"127.0.0.1:{self.port}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workers", str(self.workers)],
                cwd=ROOT,
                env=clean_environment() | dict(self.environment) | {"WEIR_DATA_DIR": str(self.data_dir)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                raise RuntimeError(f"gunicorn ended: {self.log.read_text()[-4000:]}")
            try:
                if requests.get(f"{self.url}/api/v1/readiness", timeout=5).status_code == 200:
                    return
            except requests.RequestException:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"not ready after {START_SECONDS} s: {self.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """Stop as an operator would, and wait for the end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)

    def kill(self) -> None:
        """SIGKILL the master and everything in its session: nothing gets to say good-bye."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=60)

    def processes(self) -> dict[int, str]:
        """Name and command line of each of its processes, but for the master and PostgreSQL."""
        assert self.process is not None
        return {pid: what for pid, what in session(self.process.pid).items() if pid != self.process.pid}

    def worker_pids(self) -> list[int]:
        """gunicorn's workers. Whatever one of them is just starting has its command line for a moment, too."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text("ascii")
        return [*map(int, children.split())]

    def call(self, method: str, path: str, **arguments: Any) -> requests.Response:
        """One request, on a connection of its own so that any worker may answer. Default identity: the admin."""
        if "auth" not in arguments and "X-API-Key" not in (arguments.get("headers") or {}):
            arguments["auth"] = ADMIN
        return requests.request(method, f"{self.url}{path}", timeout=60, **arguments)

    def make_key(self, name: str, *entries: Mapping[str, Any]) -> str:
        """The secret of a fresh API key whose one role, of the same name, has these privilege entries."""
        self.call("PUT", f"/api/v1/role/{name}", json=list(entries)).raise_for_status()
        made = self.call("POST", "/api/console/v1/apikeys", json={"keyName": name, "roles": [name]})
        made.raise_for_status()
        return str(made.json()["apiKey"])

    def ingest(self, dataset: str, events: Any, **headers: str) -> requests.Response:
        return self.call("POST", "/api/v1/ingest", json=events, headers={"X-P-Stream": dataset, **headers})

    def query(self, sql: str, **members: Any) -> Any:
        answer = self.call("POST", "/api/v1/query", json={"query": sql, **members})
        assert answer.status_code == 200, answer.text
        return answer.json()


def session(leader: int) -> dict[int, str]:
    """Name and command line of each process of a session. What a fork server has forked has a parent outside of it."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, _, rest = (path / "stat").read_text().partition("(")[2].rpartition(")")
            if int(rest.split()[3]) == leader:
                found[int(path.name)] = f"{name} {(path / 'cmdline').read_text()}".replace("\0", " ")
    return found


def end_with_parent() -> None:
    """A run that is killed leaves no service behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def clean_environment() -> dict[str, str]:
    """Ours without what would change the service under test."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "GUNICORN_"))}


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Return when the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.1)
