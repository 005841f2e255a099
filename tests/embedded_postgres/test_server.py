"""The embedded PostgreSQL: starts, survives kills, stops."""

import os
import signal
import time
from pathlib import Path

import psycopg
import pytest

from embedded_postgres import server


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
