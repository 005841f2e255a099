"""A session of a Spark Connect server: its address, its settings, a plan in it, and its end."""

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from query.spark import messages

PORT: Final = 15002
_CLOSE_SECONDS: Final = 10.0
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


class Session:
    """For one thread; `close` ends it on both sides. `session_id`: one that somebody else has begun."""

    def __init__(self, url: str, timeout: float, session_id: str | None = None) -> None:
        host, port, parameters = address(url)
        token = parameters.get("token")
        self._channel = _channel(f"{host}:{port}", is_secure=_is_secure(parameters))
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout = timeout
        self.id = session_id or str(uuid.uuid4())
        user = parameters.get("user_id", "weir")
        proto = messages.proto()
        self._stub = proto.SparkConnectServiceStub(self._channel)
        self._who = {
            "session_id": self.id,
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
        self._channel.close()


def release(url: str, session_id: str) -> None:
    """End the session, whoever began it, and what runs in it."""
    Session(url, _CLOSE_SECONDS, session_id).close()
