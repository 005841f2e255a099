"""One question to a Spark Connect server: a plan out, Arrow batches back. It never asks twice.

PySpark's own client asks a dead server for minutes. This one opens a connection for each question, and its end ends
what the server does for it.
"""

import io
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import polars as pl

from errors import ClusterFailed, ClusterUnavailable, WeirError
from query.fault import DIVISION_BY_ZERO, NUMERIC_OUT_OF_RANGE, invalid
from query.spark import messages
from storage.read.scan import SnapshotExpired

PORT: Final = 15002
CONNECT_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 2.0
_OPTIONS: Final = [("grpc.max_receive_message_length", 256 * 1024 * 1024), ("grpc.max_send_message_length", -1)]
# What every answer rests on, whatever the server's own settings are.
SESSION: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # Comparisons with NaN are not what statistics of row groups know of.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.sources.ignoreDataLocality": "true",
}
_CONDITION: Final = re.compile(r"\[([A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server, by its `sc://` URL, and how long it may take for an answer."""

    url: str
    timeout_seconds: float

    def rows(self, plan: Any) -> pl.DataFrame:
        """The answer to a plan. Raises ClusterUnavailable, ClusterFailed, InvalidSQL, SnapshotExpired."""
        try:
            with self._session() as session:
                batches = [pl.read_ipc_stream(io.BytesIO(data)) for data in session.batches(plan)]
        except messages.transport().RpcError as error:
            raise _translated(error) from error
        return pl.concat(batches) if batches else pl.DataFrame()

    @contextmanager
    def _session(self) -> Iterator["_Session"]:
        host, port, parameters = address(self.url)
        _require_listener(host, port)
        token = parameters.get("token")
        with _channel(f"{host}:{port}", is_secure=_is_secure(parameters)) as channel:
            bearer = (("authorization", f"Bearer {token}"),) if token else ()
            session = _Session(channel, bearer, parameters.get("user_id", "weir"), self.timeout_seconds)
            try:
                session.configure()
                yield session
            finally:
                session.close()


def address(url: str) -> tuple[str, int, dict[str, str]]:
    """Host, port and parameters of a URL.

    >>> address("sc://spark:15003/;token=abc;use_ssl=true")
    ('spark', 15003, {'token': 'abc', 'use_ssl': 'true'})
    """
    parts = urlsplit(url)
    pairs = (each.partition("=") for each in parts.path.lstrip("/").split(";") if each)
    return parts.hostname or "", parts.port or PORT, {name: unquote(value) for name, _, value in pairs}


def _is_secure(parameters: dict[str, str]) -> bool:
    return parameters.get("use_ssl", "true" if "token" in parameters else "false").lower() == "true"


def _channel(target: str, *, is_secure: bool) -> Any:
    grpc = messages.transport()
    if is_secure:
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(), _OPTIONS)
    return grpc.insecure_channel(target, _OPTIONS)


def _require_listener(host: str, port: int) -> None:
    """Nobody waits for a server that is not there: gRPC would try to connect again and again."""
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterUnavailable(f"the cluster at {host}:{port} cannot be reached: {error}") from error


class _Session:
    def __init__(self, channel: Any, metadata: tuple[tuple[str, str], ...], user: str, timeout: float) -> None:
        proto = messages.proto()
        self._metadata, self._timeout = metadata, timeout
        self._stub = proto.SparkConnectServiceStub(channel)
        self._who = {
            "session_id": str(uuid.uuid4()),
            "user_context": proto.UserContext(user_id=user, user_name=user),
            "client_type": "weir",
        }

    def configure(self) -> None:
        proto = messages.proto()
        pairs = [proto.KeyValue(key=key, value=value) for key, value in SESSION.items()]
        operation = proto.ConfigRequest.Operation(set=proto.ConfigRequest.Set(pairs=pairs))
        request = proto.ConfigRequest(operation=operation, **self._who)
        self._stub.Config(request, metadata=self._metadata, timeout=self._timeout)

    def batches(self, plan: Any) -> Iterator[bytes]:
        proto = messages.proto()
        request = proto.ExecutePlanRequest(plan=proto.Plan(root=plan), **self._who)
        for answer in self._stub.ExecutePlan(request, metadata=self._metadata, timeout=self._timeout):
            if answer.HasField("arrow_batch"):
                yield answer.arrow_batch.data

    def close(self) -> None:
        """Ends what still runs in the session, too."""
        with suppress(messages.transport().RpcError):
            request = messages.proto().ReleaseSessionRequest(**self._who)
            self._stub.ReleaseSession(request, metadata=self._metadata, timeout=_CLOSE_SECONDS)


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
