"""Fork servers and their children, as real processes (docs/decisions/query-processes.md, "A fork server")."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from processes.fork_server import Request
from processes.forked import GROUP, Child, ForkServer, environment, new_group
from tests.running import wait_until

MODULE = "tests.processes.odd_children"
OWNER = (
    "import os, socket, sys, time\n"
    "from tests.processes.test_forked import forked, made\n"
    "server = made()\n"
    "child, _ = forked(server, 'wait')\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


def made() -> ForkServer:
    return ForkServer([MODULE], environment() | {"POLARS_MAX_THREADS": "2"})


def forked(server: ForkServer, *arguments: str, extra: tuple[int, ...] = ()) -> tuple[Child, socket.socket]:
    """A child, and the other end of its standard input."""
    ours, theirs = socket.socketpair()
    with theirs:
        child = server.fork(Request(MODULE, arguments, "odd"), theirs.fileno(), 2, *extra)
    ours.settimeout(60)
    return child, ours


def told(server: ForkServer, *arguments: str) -> tuple[Child, dict[str, Any]]:
    child, ours = forked(server, "tell", *arguments)
    with ours:
        return child, json.loads(ours.recv(1 << 20))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(child: Child) -> int | None:
    wait_until(lambda: child.status() is not None)
    return child.status()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    monkeypatch.setenv(GROUP, new_group())
    server = made()
    yield server
    server.close()


@contextmanager
def owner() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Another process of our group, and its child."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("exit", "0"), 0),
        (("exit", "3"), 3),
        (("raise",), 1),
        (("die", "6"), -signal.SIGABRT),
        (("fault",), -signal.SIGSEGV),
        (("die", "9"), -signal.SIGKILL),
        (("die", "15"), -signal.SIGTERM),
    ],
    ids=["done", "exit", "raise", "abort", "fault", "kill", "stop"],
)
def test_status_of_a_child_comes_back(server: ForkServer, arguments: tuple[str, ...], status: int):
    child, _ = forked(server, *arguments)

    assert ended(child) == status


def test_child_gets_its_descriptors_and_arguments_and_nothing_else(server: ForkServer):
    held = [forked(server, "wait") for _ in range(3)]

    child, facts = told(server, "x")

    assert facts["arguments"] == ["tell", "x"]
    assert [each for each, what in facts["descriptors"].items() if what.startswith(("socket:", "anon_inode:"))] == ["0"]
    assert Path(f"/proc/{child.pid}/comm").read_text() == "odd\n"
    assert all(each.status() is None for each, _ in held)


def test_argument_may_name_a_descriptor(server: ForkServer):
    ours, theirs = socket.socketpair()

    with theirs:
        child, _ = forked(server, "say", "{0}", extra=(theirs.fileno(),))

    assert ours.recv(100) == b"said"
    assert ended(child) == 0


def test_child_knows_no_setting_of_the_service(server: ForkServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEIR_SECRET_KEY", "hush")
    started = made()

    _, facts = told(started)
    started.close()

    inherited = Path(f"/proc/{facts['server']}/environ").read_bytes()
    assert not [name for name in facts["environment"] if name.startswith(("WEIR_", GROUP))]
    assert b"hush" not in inherited


def test_child_has_the_handlers_of_a_new_process(server: ForkServer):
    _, facts = told(server)

    assert facts["handlers"] == [str(signal.SIG_DFL)] * 2


def test_chance_differs_from_child_to_child(server: ForkServer):
    (_, one), (_, other) = told(server), told(server)

    assert one["server"] == other["server"]
    assert one["random"] != other["random"]
    assert one["shuffled"] != other["shuffled"]


def test_all_of_a_group_share_one_server(server: ForkServer):
    """Whoever needs it first: many at once start no more than one."""
    others = [made() for _ in range(8)]

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(told, others))

    for each in others:
        each.close()
    assert len({facts["server"] for _, facts in found}) == 1


def test_closing_ends_the_child_and_with_the_last_one_the_server(server: ForkServer):
    child, facts = told(server)

    child.close()
    wait_until(lambda: not is_running(child.pid))
    assert is_running(facts["server"])
    server.close()

    wait_until(lambda: not is_running(facts["server"]))


def test_closed_server_forks_nothing(server: ForkServer):
    server.close()

    with pytest.raises(ConnectionAbortedError):
        forked(server, "wait")


def test_killed_owner_takes_its_child_and_the_server_along(server: ForkServer):
    with owner() as (process, pid):
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        process.kill()

        wait_until(lambda: not (is_running(pid) or is_running(parent)))


def test_killed_owner_takes_nobody_elses_child_along(server: ForkServer):
    """Also if the server was started by it."""
    with owner() as (process, pid):
        child, facts = told(server)
        process.kill()
        wait_until(lambda: not is_running(pid))

        assert child.status() is None
        assert told(server)[1]["server"] == facts["server"]


def test_killed_server_takes_its_children_along_and_comes_back(server: ForkServer):
    child, facts = told(server)

    os.kill(facts["server"], signal.SIGKILL)

    assert ended(child) == -signal.SIGKILL
    wait_until(lambda: not is_running(child.pid))
    assert told(server)[1]["server"] != facts["server"]


def test_process_id_is_the_childs_until_its_owner_lets_go(server: ForkServer):
    child, _ = forked(server, "exit", "0")
    ended(child)
    assert Path(f"/proc/{child.pid}").exists()

    child.close()

    wait_until(lambda: not Path(f"/proc/{child.pid}").exists())


def test_killing_a_child_hits_that_one_alone(server: ForkServer):
    (child, _), (other, _) = forked(server, "wait"), forked(server, "wait")

    child.kill()
    child.kill()

    assert ended(child) == -signal.SIGKILL
    assert other.status() is None


@pytest.mark.crash
def test_thousand_children_run_a_query_each_and_leave_no_descriptor_behind(server: ForkServer):
    """A lock that another thread held at the moment of a fork would be held for ever in the child."""
    _, facts = told(server)
    before = len(os.listdir("/proc/self/fd")), len(os.listdir(f"/proc/{facts['server']}/fd"))

    def run(_: int) -> tuple[bytes, int | None]:
        child, ours = forked(server, "query")
        with ours:
            answer, status = ours.recv(100), ended(child)
        child.close()
        return answer, status

    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(run, range(1000)))

    assert found == {(b"499500", 0)}
    wait_until(lambda: len(os.listdir(f"/proc/{facts['server']}/fd")) <= before[1])
    assert len(os.listdir("/proc/self/fd")) <= before[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can become somebody else")
def test_another_user_cannot_have_a_process_forked(server: ForkServer):
    _, facts = told(server)
    code = (
        "import os, socket, sys; os.setuid(65534)\n"
        "stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "stranger.connect('\\0' + sys.argv[1])\n"
        "print(stranger.recv(100))"
    )

    answer = subprocess.run([sys.executable, "-c", code, server._address], capture_output=True, text=True, check=False)

    assert "Connection reset" in answer.stderr or answer.stdout == "b''\n"
    assert is_running(facts["server"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can become somebody else")
def test_address_that_another_user_has_taken_is_not_used(server: ForkServer):
    code = (
        "import os, socket, sys; os.setuid(65534)\n"
        "squatter = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "squatter.bind('\\0' + sys.argv[1]); squatter.listen(); print('taken', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, server._address]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout is not None
        squatter.stdout.readline()
        with pytest.raises(PermissionError):
            forked(server, "wait")
        squatter.kill()
