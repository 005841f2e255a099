"""What must be in place before anything is started, so that a start that cannot succeed leaves nothing behind.

Run in gunicorn's master, which must stay small: knows settings, files and sockets, and no part of Weir.
"""

import errno
import os
import shutil
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from config import MIB, Settings

# What a new embedded PostgreSQL takes (40 MiB), and what its first tables and log files add to it.
FIRST_START_BYTES: Final = 64 * MIB
PRIVILEGED_PORTS: Final = 1024
LOCK: Final = "server.lock"
DEFAULT_PG_BIND: Final = "127.0.0.1:5433"
# The workers' environment names the listening socket by its descriptor, as systemd does for its own.
PG_LISTENER: Final = "PG_LISTEN_FD"
BACKLOG: Final = 512


class CannotStart(Exception):
    """Nothing has been started. The message is one line that says what to do."""


def prepare_data_dir(settings: Settings) -> None:
    """Make the data directory, and see that we can write to it and that a first start fits. Raises CannotStart."""
    try:
        settings.make_data_dir()
        with (settings.data_dir / LOCK).open("a"):
            pass
        free = shutil.disk_usage(settings.data_dir).free
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise CannotStart(_too_full(settings.data_dir, 0)) from error
        raise CannotStart(
            f"the data directory {settings.data_dir} cannot be used ({error.strerror}): "
            "set WEIR_DATA_DIR to a directory that this user may write to, or start as its owner"
        ) from error
    is_first = settings.database_url is None and not (settings.data_dir / "postgres" / "data").exists()
    if is_first and free < FIRST_START_BYTES:
        raise CannotStart(_too_full(settings.data_dir, free))


def _too_full(data_dir: Path, free: int) -> str:
    return (
        f"the first start needs {FIRST_START_BYTES // MIB} MiB of disk in {data_dir}, and {free // MIB} MiB are free: "
        "make room, or set WEIR_DATA_DIR to a directory on another disk"
    )


def require_otlp_grpc(settings: Settings) -> None:
    """See that OTLP/gRPC, if it is wanted, has its address and its certificate. Raises CannotStart."""
    if settings.otlp_grpc_bind is None:
        return
    _require_free(*settings.otlp_grpc_bind, "WEIR_OTLP_GRPC_BIND")
    for path in (settings.otlp_grpc_certificate, settings.otlp_grpc_private_key):
        _require_readable(path)


def _require_readable(path: Path | None) -> None:
    if path is None:
        return
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise CannotStart(f"{path}, which OTLP/gRPC is to use, cannot be read: {error.strerror}") from error


def require_free(addresses: Sequence[object]) -> None:
    """See that each of gunicorn's addresses can be listened on. Raises CannotStart.

    Unix sockets, which gunicorn replaces, and sockets that it inherits are left to gunicorn.
    """
    if {"GUNICORN_FD", "LISTEN_FDS"} & os.environ.keys():
        return
    for address in addresses:
        if isinstance(address, tuple):
            _require_free(str(address[0]), int(address[1]), "--bind HOST:PORT")


def postgresql_address(settings: Settings) -> tuple[str, int]:
    """Where clients of PostgreSQL are to connect."""
    host, _, port = (settings.pg_bind or DEFAULT_PG_BIND).rpartition(":")
    return host.strip("[]"), int(port)


def listen_for_postgresql(settings: Settings) -> socket.socket | None:
    """The socket on which clients of PostgreSQL connect; None if there is to be none, or the default is taken.

    Raises CannotStart when a given address cannot be listened on, or would take passwords' proofs and statements from
    other hosts in the clear.
    """
    if settings.pg_bind == "":
        return None
    host, port = postgresql_address(settings)
    if settings.pg_tls_cert is None and settings.pg_tls != "off" and not is_loopback(host):
        raise CannotStart(
            f"clients of PostgreSQL on other hosts connect to {host}:{port} by TLS: set WEIR_PG_TLS_CERT and "
            "WEIR_PG_TLS_KEY, or WEIR_PG_TLS=off if a proxy has TLS"
        )
    try:
        return _listening(host, port)
    except OSError as error:
        if settings.pg_bind is None:
            return None
        advice = _advice(error, port, "WEIR_PG_BIND")
        raise CannotStart(f"cannot listen on {host}:{port} for clients of PostgreSQL: {advice}") from error


def _listening(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this host reaches the address."""
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def _require_free(host: str, port: int, option: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise CannotStart(f"cannot listen on {host}:{port}: {_advice(error, port, option)}") from error


def _advice(error: OSError, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"another program listens there already; stop it, or choose another port with {option}"
    if error.errno == errno.EACCES and port < PRIVILEGED_PORTS:
        return f"this user may not use ports below {PRIVILEGED_PORTS}; choose another with {option}"
    return f"{error.strerror or error}; choose an address of this machine with {option}"
