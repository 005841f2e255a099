"""The embedded PostgreSQL: starts, survives kills, stops."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from embedded_postgres import server
from errors import StorageUnavailable


@pytest.fixture
def data_dir(tmp_path: Path):
    yield tmp_path
    server.stop(tmp_path)


def test_started_server_answers(data_dir: Path):
    url = server.ensure_running(data_dir)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_second_start_leaves_the_running_server_alone(data_dir: Path):
    server.ensure_running(data_dir)
    before = server._postmaster_pid(server.cluster(data_dir))

    server.ensure_running(data_dir)

    assert server._postmaster_pid(server.cluster(data_dir)) == before


def test_committed_rows_survive_a_killed_postmaster(data_dir: Path):
    with psycopg.connect(server.ensure_running(data_dir), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    os.kill(server._postmaster_pid(server.cluster(data_dir)), signal.SIGKILL)

    url = server.ensure_running(data_dir)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


def test_a_stale_lock_file_that_names_another_living_process_does_not_stop_the_start(data_dir: Path):
    server.ensure_running(data_dir)
    server.stop(data_dir)
    lock = server.cluster(data_dir).data / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{lock.parent}\n{int(time.time())}\n5432\n\n\n\n")

    url = server.ensure_running(data_dir)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_data_directory_with_a_long_path_is_reached_by_a_short_socket_path(tmp_path: Path):
    deep = tmp_path / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)

    url = server.ensure_running(deep)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop(deep)


def test_neither_statements_nor_values_get_into_its_log(data_dir: Path):
    """operations.md: no line of any process holds a payload. A crash names the statement that ran, by default."""
    with psycopg.connect(server.ensure_running(data_dir), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (n int PRIMARY KEY, s text)")
        for failing in (
            "INSERT INTO t VALUES (1, 'canary'), (1, 'canary')",
            "SELECT 'canary'::int",
            "SELECT canary FROM t",
            "DO $$ BEGIN RAISE WARNING 'canary'; END $$; SELECT canary(",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(failing)
        with pytest.raises(psycopg.Error), connection.cursor().copy("COPY t FROM STDIN") as copy:
            copy.write("canary\n")
        backend = connection.info.backend_pid
        threading.Timer(0.5, os.kill, (backend, signal.SIGKILL)).start()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(30), 'canary'")

    # It recovers first.
    server.ensure_running(data_dir)
    log = server.cluster(data_dir).log.read_text()

    assert "was terminated by signal 9" in log
    assert "canary" not in log


def foreign(path: Path) -> None:
    path.mkdir()
    os.chown(path, 12345, 12345)


def linked(path: Path) -> None:
    target = path.parent / "target"
    target.mkdir()
    path.symlink_to(target)


def filed(path: Path) -> None:
    path.write_text("")


@pytest.mark.skipif(os.getuid() != 0, reason="needs to make what belongs to others")
@pytest.mark.parametrize("prepare", [foreign, linked, filed], ids=["somebody else's", "a link", "a file"])
def test_a_socket_directory_that_somebody_prepared_is_refused(
    data_dir: Path, prepare: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, tmp_path_factory
):
    """Whoever owns the directory can put another socket into it, and be the database."""
    shared = tmp_path_factory.mktemp("shared")
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    deep = data_dir / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    prepare(server.cluster(deep).sockets)

    with pytest.raises(StorageUnavailable):
        server.ensure_running(deep)


def test_a_directory_that_is_ours_is_closed_to_others(data_dir: Path):
    found = server.cluster(data_dir)
    path = data_dir / "run"
    path.mkdir()
    path.chmod(0o777)

    server._own_directory(found, path)

    assert path.stat().st_mode & 0o777 == 0o700
