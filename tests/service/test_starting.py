"""Starts that cannot succeed, and stops at any moment: one line, and nothing is left running."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.running import ADMIN, ROOT, clean_environment, free_port, wait_until

END_SECONDS = 60
# Containers often let everybody use every port.
FIRST_FREE_PORT = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())


def begin(data_dir: Path, bind: str | None = None, **environment: str) -> "subprocess.Popen[bytes]":
    """gunicorn as a terminal starts it: in a process group of its own. Its output goes to `<data_dir>.log`."""
    command = [sys.executable, "-m", "gunicorn", "wsgi:app", "--workers", "2"]
    with data_dir.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            [*command, "--bind", bind or f"127.0.0.1:{free_port()}"],
            cwd=ROOT,
            env=clean_environment() | {"WEIR_DATA_DIR": str(data_dir), **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def output(data_dir: Path) -> str:
    return data_dir.with_suffix(".log").read_text()


def failed(data_dir: Path, bind: str | None = None, **environment: str) -> list[str]:
    """The lines of a start that fails, without those of the log, after seeing that nothing is left of it."""
    process = begin(data_dir, bind, **environment)

    assert process.wait(timeout=END_SECONDS) == 1
    wait_until(lambda: left_of(data_dir) == [], 10)
    return [line for line in output(data_dir).splitlines() if not re.match(r"\d{4}-", line)]


def left_of(data_dir: Path) -> list[str]:
    """The processes that have the data directory in their environment, as every one that a start makes has."""
    mark = f"WEIR_DATA_DIR={data_dir}\0".encode()
    return [_command(each) for each in Path("/proc").glob("[0-9]*") if mark in _read(each / "environ") + b"\0"]


def _command(process: Path) -> str:
    return _read(process / "cmdline").replace(b"\0", b" ").decode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("WEIR_DATADIR", "/x", "weir: WEIR_DATADIR: no such setting; did you mean WEIR_DATA_DIR?"),
        ("WEIR_QUERY_TIMEOUT_SECONDS", "5m", "weir: WEIR_QUERY_TIMEOUT_SECONDS: expected seconds, such as 300"),
        ("WEIR_MAX_BODY_BYTES", "16MB", "weir: WEIR_MAX_BODY_BYTES: expected a number of bytes, such as 16777216"),
        (
            "WEIR_DATABASE_URL",
            "mysql://db/weir",
            "weir: WEIR_DATABASE_URL: expected a URL that starts with postgresql:// or postgres://",
        ),
        ("WEIR_SELF_DATASET", "p_own", "weir: WEIR_SELF_DATASET: a dataset name cannot start with 'p_'"),
    ],
)
def test_wrong_setting_is_one_line(tmp_path: Path, name: str, value: str, advice: str):
    assert failed(tmp_path / "data", **{name: value}) == [advice]


def test_taken_port_is_found_before_anything_is_started(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        lines = failed(tmp_path / "data", address)

    assert len(lines) == 1
    assert f"cannot listen on {address}: another program listens there" in lines[0]
    assert not (tmp_path / "data").exists()


def test_weak_password_leaves_no_postgres_behind(tmp_path: Path):
    lines = failed(tmp_path / "data", f"0.0.0.0:{free_port()}", WEIR_ADMIN_PASSWORD="admin")

    assert len(lines) == 1
    assert "set another WEIR_ADMIN_PASSWORD" in lines[0]
    assert (tmp_path / "data" / "postgres" / "data").exists()


def test_unreachable_database_is_named_with_the_reason_and_without_its_password(tmp_path: Path):
    port = free_port()
    lines = failed(tmp_path / "data", WEIR_DATABASE_URL=f"postgresql://weir:hidden@127.0.0.1:{port}/weir")

    assert len(lines) == 1
    assert f'server at "127.0.0.1", port {port} failed: Connection refused' in lines[0]
    assert "hidden" not in lines[0]


def test_database_that_does_not_exist_is_named(tmp_path: Path, postgres: str):
    lines = failed(tmp_path / "data", WEIR_DATABASE_URL=postgres.replace("/postgres?", "/nowhere?"))

    assert len(lines) == 1
    assert 'database "nowhere" does not exist' in lines[0]


@pytest.fixture
def role_with_password(postgres: str) -> str:
    """The URL of a role whose password the server asks for; it trusts every other one."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS with_password")
        connection.execute("CREATE ROLE with_password LOGIN PASSWORD 'right'")
        [rules] = connection.execute("SHOW hba_file").fetchone() or [""]
        text = Path(rules).read_text()
        Path(rules).write_text(f"local all with_password scram-sha-256\n{text}")
        connection.execute("SELECT pg_reload_conf()")
    return postgres.replace("weir@", "with_password:hidden@")


def test_wrong_password_of_the_database_is_told_and_not_shown(tmp_path: Path, role_with_password: str):
    lines = failed(tmp_path / "data", WEIR_DATABASE_URL=role_with_password)

    assert len(lines) == 1
    assert 'password authentication failed for user "with_password"' in lines[0]
    assert "hidden" not in lines[0]


@pytest.mark.skipif(os.geteuid() != 0 or FIRST_FREE_PORT <= 80, reason="only root can become a user who may not")
def test_port_that_only_root_may_use_is_told(tmp_path: Path):
    """The check alone: of another user's installation nothing else may be readable here."""
    code = "import os, preflight; os.setuid(65534); preflight.require_free([('127.0.0.1', 80)])"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert "cannot listen on 127.0.0.1:80" in done.stderr
    assert "this user may not use ports below 1024; choose another with --bind HOST:PORT" in done.stderr


def test_data_directory_that_is_a_file_is_one_line(tmp_path: Path):
    (tmp_path / "data").touch()

    assert failed(tmp_path / "data") == [
        f"weir: the data directory {tmp_path}/data cannot be used (File exists): "
        "set WEIR_DATA_DIR to a directory that this user may write to, or start as its owner"
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_first_start_says_how_much_disk_it_needs(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(data)]).returncode:
        pytest.skip("this machine does not allow mounting")
    try:
        lines = failed(data)
    finally:
        subprocess.run(["umount", "--lazy", str(data)], check=True)

    assert len(lines) == 1
    assert re.search(r"needs 64 MiB of disk in .*, and (19|20) MiB are free", lines[0])


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1, 2, 4, 8])
def test_ctrl_c_during_the_first_start_ends_everything_without_a_traceback(tmp_path: Path, seconds: float):
    """Ctrl-C in a terminal: SIGINT to every process of the group, at whatever step each of them is."""
    process = begin(tmp_path / "data", WEIR_ADMIN_PASSWORD=ADMIN[1])
    # Python and gunicorn themselves must have come up before there is anything of ours to interrupt.
    while "Starting gunicorn" not in output(tmp_path / "data"):
        time.sleep(0.01)
    time.sleep(seconds)

    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(timeout=END_SECONDS) == 0
    wait_until(lambda: left_of(tmp_path / "data") == [], 10)
    said = output(tmp_path / "data")
    assert "Traceback" not in said
    assert "SIGKILL" not in said
    assert "weir:" not in said


@pytest.mark.parametrize("number", range(6))
def test_ctrl_c_while_the_first_process_is_made_leaves_it_nothing_to_say(tmp_path: Path, number: int):
    """What is blocked until it is there arrives right after, and must end it as it does later (one of three times)."""
    process = begin(tmp_path / "data", WEIR_ADMIN_PASSWORD=ADMIN[1])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not children.read_text().strip():
        pass

    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(timeout=END_SECONDS) == 0
    wait_until(lambda: left_of(tmp_path / "data") == [], 10)
    said = output(tmp_path / "data")
    assert "Traceback" not in said
    assert "weir:" not in said


def test_ctrl_c_of_a_running_service_seals_what_was_written_and_says_nothing(start_service):
    service = start_service(workers=2, WEIR_FLUSH_SECONDS="600")
    service.ingest("app", [{"a": 1}]).raise_for_status()

    os.killpg(service.process.pid, signal.SIGINT)

    assert service.process.wait(timeout=END_SECONDS) == 0
    said = service.log.read_text()
    assert "Traceback" not in said
    assert "failed with" not in said
    # A worker that still loads the application when the signal comes ends without a word.
    assert said.count("Worker exiting") in (1, 2)
    wait_until(lambda: left_of(service.data_dir) == [], 10)
