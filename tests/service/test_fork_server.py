"""The fork server of a running service: it lives as long as somebody may ask, and no longer."""

import os
import signal
import subprocess
from collections.abc import Callable

from query.process import query_process
from tests.running import Service, session, wait_until

StartService = Callable[..., Service]
COUNT = "SELECT count(*) AS n FROM app"


def fork_servers(service: Service) -> list[int]:
    return [pid for pid, command in named(service, "python").items() if "processes.fork_server" in command]


def query_processes(service: Service) -> list[int]:
    return list(named(service, query_process.NAME))


def named(service: Service, name: str) -> dict[int, str]:
    return {pid: command for pid, command in service.processes().items() if command.startswith(name)}


def master(service: Service) -> subprocess.Popen[bytes]:
    assert service.process is not None
    return service.process


def started(start_service: StartService) -> Service:
    """A service that has answered a query and has its warm processes."""
    service = start_service()
    service.ingest("app", [{"n": 1}]).raise_for_status()
    assert service.query(COUNT) == [{"n": 1}]
    wait_until(lambda: len(query_processes(service)) >= 2)
    return service


def test_workers_share_one_fork_server(start_service: StartService) -> None:
    service = started(start_service)

    assert len(fork_servers(service)) == 1


def test_service_answers_after_its_fork_server_was_killed(start_service: StartService) -> None:
    service = started(start_service)
    (killed,) = fork_servers(service)
    before = query_processes(service)

    os.kill(killed, signal.SIGKILL)

    wait_until(lambda: not set(before) & set(query_processes(service)))
    assert service.query(COUNT) == [{"n": 1}]
    (other,) = fork_servers(service)
    assert other != killed


def test_worker_that_is_killed_leaves_the_fork_server_to_others(start_service: StartService) -> None:
    service = started(start_service)
    before = fork_servers(service)
    (worker, *_) = service.worker_pids()

    os.kill(worker, signal.SIGKILL)
    service.wait_until_ready()

    assert service.query(COUNT) == [{"n": 1}]
    assert fork_servers(service) == before


def test_reload_forks_from_what_is_loaded_then(start_service: StartService) -> None:
    service = started(start_service)
    (before,) = fork_servers(service)

    master(service).send_signal(signal.SIGHUP)

    wait_until(lambda: before not in fork_servers(service) != [])
    service.wait_until_ready()
    assert service.query(COUNT) == [{"n": 1}]


def test_stop_after_a_reload_is_a_stop(start_service: StartService) -> None:
    service = started(start_service)
    process = master(service)
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: service.log.read_text().count("Booting worker") == 4)
    service.wait_until_ready()

    service.stop()

    assert process.returncode == 0


def test_stop_leaves_no_process(start_service: StartService) -> None:
    service = started(start_service)
    leader = master(service).pid

    service.stop()

    wait_until(lambda: not session(leader), 10)


def test_killed_master_leaves_no_process(start_service: StartService) -> None:
    """Workers look whether it is there, and with the last of them the fork server goes."""
    service = started(start_service)
    process = master(service)

    process.kill()
    process.wait()

    wait_until(lambda: not session(process.pid))


def test_two_servers_on_one_data_directory_fork_apart(start_service: StartService) -> None:
    service = started(start_service)
    other = Service(service.data_dir, service.environment, workers=1).start()
    try:
        other.query(COUNT)
        mine, theirs = fork_servers(service), fork_servers(other)
    finally:
        other.stop()

    assert len(mine) == len(theirs) == 1
    assert mine != theirs
    assert service.query(COUNT) == [{"n": 1}]
