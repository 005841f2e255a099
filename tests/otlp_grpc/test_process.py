"""The process of OTLP/gRPC: it comes with the service, ends with it, and what it answered survives it."""

import itertools
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.otlp_grpc.conftest import METHODS, logs_of, owned_by
from tests.running import ADMIN, free_port, wait_until
from tests.service.test_starting import failed

pytestmark = pytest.mark.service

KILLS = 5


def has_ended(process: Path) -> bool:
    """A process whose parent is gone may stay as a zombie where nobody waits for it, as in some containers."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_grpcio_and_gevent_never_meet(start_door: Any):
    door = start_door(workers=1)
    process = owned_by(door.service)
    worker = Path("/proc") / (process / "stat").read_text().rpartition(")")[2].split()[1]

    assert "/grpc/" in (process / "maps").read_text()
    assert "/gevent/" not in (process / "maps").read_text()
    assert "/gevent/" in (worker / "maps").read_text()
    assert "/grpc/" not in (worker / "maps").read_text()


def test_without_the_setting_there_is_no_such_process(service: Any):
    with pytest.raises(StopIteration):
        owned_by(service)


def test_a_taken_port_fails_the_start(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        assert failed(tmp_path / "data", WEIR_OTLP_GRPC_BIND=address) == [
            f"weir: cannot listen on {address}: another program listens there already; stop it, or choose another port "
            "with WEIR_OTLP_GRPC_BIND"
        ]


@pytest.mark.parametrize(
    ("environment", "advice"),
    [
        ({"WEIR_OTLP_GRPC_BIND": "4317"}, "WEIR_OTLP_GRPC_BIND: expected HOST:PORT, such as 127.0.0.1:4317"),
        ({"WEIR_OTLP_GRPC_CERTIFICATE": "/x"}, "WEIR_OTLP_GRPC_CERTIFICATE and WEIR_OTLP_GRPC_PRIVATE_KEY belong"),
        (
            {"WEIR_OTLP_GRPC_CERTIFICATE": "/no/such", "WEIR_OTLP_GRPC_PRIVATE_KEY": "/no/such"},
            "/no/such, which OTLP/gRPC is to use, cannot be read: No such file or directory",
        ),
    ],
    ids=["bind", "half a pair", "no file"],
)
def test_a_wrong_setting_fails_the_start(tmp_path: Path, environment: dict[str, str], advice: str):
    lines = failed(tmp_path / "data", **{"WEIR_OTLP_GRPC_BIND": f"127.0.0.1:{free_port()}", **environment})

    assert len(lines) == 1
    assert advice in lines[0]


def test_a_guessable_password_is_refused_where_only_grpc_is_open_to_others(tmp_path: Path):
    bind = {"WEIR_OTLP_GRPC_BIND": f"0.0.0.0:{free_port()}", "WEIR_ADMIN_PASSWORD": "admin"}

    assert "others can reach this server" in failed(tmp_path / "data", **bind)[-1]


def test_tls_is_served_with_the_given_certificate(start_service: Any, tmp_path: Path):
    key, certificate, port = tmp_path / "key.pem", tmp_path / "certificate.pem", free_port()
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *files], check=True, capture_output=True
    )
    service = start_service(
        1,
        WEIR_OTLP_GRPC_BIND=f"127.0.0.1:{port}",
        WEIR_OTLP_GRPC_CERTIFICATE=str(certificate),
        WEIR_OTLP_GRPC_PRIVATE_KEY=str(key),
    )
    secret = service.make_key("tls", {"privilege": "ingestor"})

    with grpc.secure_channel(f"localhost:{port}", grpc.ssl_channel_credentials(certificate.read_bytes())) as channel:
        metadata = [("x-api-key", secret), ("x-p-stream", "sealed")]
        channel.unary_unary(METHODS["logs"])(logs_of(a=["x"]), metadata=metadata, timeout=60, wait_for_ready=True)

    assert service.query("select body from sealed") == [{"body": "x"}]


@pytest.mark.crash
def test_what_was_acknowledged_is_stored_once_whatever_is_killed(start_door: Any):
    """api.md section 4: answered means durable. Nothing is sent twice here, so nothing may be there twice."""
    door = start_door(workers=2, WEIR_FLUSH_SECONDS="1")
    numbers, acknowledged, stop = itertools.count(), set(), threading.Event()

    def write() -> None:
        method = door.channel.unary_unary(METHODS["logs"])
        while not stop.is_set():
            number = str(next(numbers))
            with suppress(grpc.RpcError):
                method(logs_of(a=[number]), metadata=door.metadata("fire"), timeout=10)
                acknowledged.add(number)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        before = len(acknowledged)
        wait_until(lambda before=before: len(acknowledged) > before + 10)
        os.kill(int(owned_by(door.service).name), signal.SIGKILL)
    stop.set()
    for writer in writers:
        writer.join()

    found = [row["body"] for row in door.service.query("select body from fire")]
    assert len(found) == len(set(found))
    assert acknowledged <= set(found)
    assert len(acknowledged) > 10 * KILLS


@pytest.mark.crash
def test_it_goes_on_after_the_worker_that_started_it_was_killed(start_door: Any):
    door = start_door(workers=2)
    process = owned_by(door.service)
    owner = int((process / "stat").read_text().rpartition(")")[2].split()[1])

    os.kill(owner, signal.SIGKILL)
    wait_until(lambda: has_ended(process))

    door.channel.unary_unary(METHODS["logs"])(
        logs_of(a=["x"]), metadata=door.metadata("after"), timeout=60, wait_for_ready=True
    )
    assert door.service.query("select body from after") == [{"body": "x"}]


def test_a_stop_in_order_ends_the_calls_in_progress(start_door: Any):
    door = start_door(workers=1)
    method = door.channel.unary_unary(METHODS["logs"])
    process = owned_by(door.service)
    for number in range(20):
        method(logs_of(a=[str(number)]), metadata=door.metadata("ended"), timeout=30)

    began = time.monotonic()
    door.service.stop()

    wait_until(lambda: has_ended(process), 5)
    assert time.monotonic() - began < 20
    assert "Traceback" not in door.service.log.read_text()
    door.service.start()
    assert door.service.query("select count(*) as n from ended") == [{"n": 20}]
    assert ADMIN[1] not in door.service.log.read_text()
