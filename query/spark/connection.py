"""One question to a Spark Connect server: a plan out, Arrow batches back. It never asks twice.

PySpark's own client asks a dead server for minutes. This one opens a connection for each question, and its end ends
what the server does for it.
"""

import io
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from errors import ClusterFailed, ClusterUnavailable, WeirError
from query.fault import DIVISION_BY_ZERO, NUMERIC_OUT_OF_RANGE, invalid
from query.spark import messages
from query.spark.owner_watch import watched
from query.spark.session import Session, address
from storage.read.scan import SnapshotExpired

CONNECT_SECONDS: Final = 5.0
_CONDITION: Final = re.compile(r"\[([A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server, by its `sc://` URL, and how long it may take for an answer."""

    url: str
    timeout_seconds: float

    def rows(self, plan: Any) -> pl.DataFrame:
        """The answer to a plan. Raises ClusterUnavailable, ClusterFailed, InvalidSQL, SnapshotExpired."""
        with self._session() as session:
            return answer(session, plan)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        host, port, _ = address(self.url)
        _require_listener(host, port)
        session = Session(self.url, self.timeout_seconds)
        try:
            with watched(self.url, session.id):
                with _translating():
                    session.configure()
                yield session
        finally:
            session.close()


def answer(session: Session, plan: Any) -> pl.DataFrame:
    """The answer to a plan in this session. Raises as `Cluster.rows`."""
    with _translating():
        batches = [pl.read_ipc_stream(io.BytesIO(data)) for data in session.batches(plan)]
    return pl.concat(batches) if batches else pl.DataFrame()


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except messages.transport().RpcError as error:
        raise _translated(error) from error


def _require_listener(host: str, port: int) -> None:
    """Nobody waits for a server that is not there: gRPC would try to connect again and again."""
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterUnavailable(f"the cluster at {host}:{port} cannot be reached: {error}") from error


def _translated(error: Any) -> WeirError:
    codes = messages.transport().StatusCode
    details = str(getattr(error, "details", lambda: "")() or "")
    code = error.code() if hasattr(error, "code") else None
    found = _CONDITION.search(details)
    condition = found.group(1) if found else ""
    if condition.startswith(("ARITHMETIC_OVERFLOW", "CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE")):
        return invalid(NUMERIC_OUT_OF_RANGE, "a number is out of the range of its type")
    if condition.startswith(("DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO")):
        return invalid(DIVISION_BY_ZERO, "division by zero")
    if condition.startswith(("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")):
        return SnapshotExpired("the cluster does not find a file of the snapshot")
    if code in (codes.UNAVAILABLE, codes.DEADLINE_EXCEEDED, codes.CANCELLED):
        return ClusterUnavailable(f"the cluster went away: {code.name}")
    if code in (codes.UNAUTHENTICATED, codes.PERMISSION_DENIED):
        return ClusterUnavailable("the cluster refuses Weir's token")
    return ClusterFailed(f"the cluster failed: {condition or (code.name if code else 'no reason given')}")
