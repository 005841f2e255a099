"""A service that takes OTLP/gRPC, and callers of its three methods."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from tests.conftest import NewDatabase, service_environment
from tests.running import Service, free_port

METHODS = {
    signal: f"/opentelemetry.proto.collector.{signal.rstrip('s') if signal == 'traces' else signal}.v1.{name}/Export"
    for signal, name in (("logs", "LogsService"), ("metrics", "MetricsService"), ("traces", "TraceService"))
}
BODY_BYTES = 1024 * 1024
DECODED_BYTES = 2 * 1024 * 1024
CONNECT_SECONDS = 60

Metadata = Sequence[tuple[str, str]]


@dataclass
class Door:
    """The gRPC door of a service, with the secret of a key that may send everywhere."""

    service: Service
    port: int
    key: str = ""
    channel: grpc.Channel = field(init=False)

    def __post_init__(self) -> None:
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", [("grpc.max_send_message_length", -1)])
        grpc.channel_ready_future(self.channel).result(CONNECT_SECONDS)

    def metadata(self, dataset: str | None = None, *more: tuple[str, str]) -> Metadata:
        named = [] if dataset is None else [("x-p-stream", dataset)]
        return [("x-api-key", self.key), *named, *more]

    def call(self, signal: str, message: bytes, metadata: Metadata, **options: Any) -> bytes:
        """The response. Raises grpc.RpcError."""
        method = self.channel.unary_unary(METHODS[signal])
        return method(message, metadata=metadata, timeout=30, **options)

    def refusal(self, signal: str, message: bytes, metadata: Metadata, **options: Any) -> grpc.Call:
        with pytest.raises(grpc.RpcError) as raised:
            self.call(signal, message, metadata, **options)
        return raised.value


@pytest.fixture(scope="module")
def door(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with new_database() as url:
        port = free_port()
        limits = {"WEIR_MAX_BODY_BYTES": str(BODY_BYTES), "WEIR_MAX_DECODED_BYTES": str(DECODED_BYTES)}
        environment = service_environment(url) | limits | {"WEIR_OTLP_GRPC_BIND": f"127.0.0.1:{port}"}
        service = Service(tmp_path_factory.mktemp("grpc"), environment, workers=2).start()
        found = Door(service, port, service.make_key("grpc-ingestor", {"privilege": "ingestor"}))
        yield found
        found.channel.close()
        service.stop()


@pytest.fixture
def start_door(start_service: Callable[..., Service]) -> Callable[..., Door]:
    """A function that starts a service of the test's own, and returns its door."""

    def start(workers: int = 2, **environment: str) -> Door:
        port = free_port()
        service = start_service(workers, WEIR_OTLP_GRPC_BIND=f"127.0.0.1:{port}", **environment)
        return Door(service, port, service.make_key("grpc-ingestor", {"privilege": "ingestor"}))

    return start


def attribute(name: str, value: str) -> KeyValue:
    return KeyValue(key=name, value=AnyValue(string_value=value))


def logs_of(**bodies: Sequence[str]) -> bytes:
    """An export request: for each service the bodies of its records."""
    request = LogsData()
    for service, texts in bodies.items():
        group = request.resource_logs.add()
        group.resource.attributes.append(attribute("service.name", service))
        records = [LogRecord(time_unix_nano=10**18, body=AnyValue(string_value=text)) for text in texts]
        group.scope_logs.add().log_records.extend(records)
    return request.SerializeToString()


def owned_by(service: Service) -> Path:
    """The folder of the gRPC process of a service, below /proc."""
    mark = f"WEIR_DATA_DIR={service.data_dir}\0".encode()
    return next(
        path
        for path in Path("/proc").glob("[0-9]*")
        if b"otlp_grpc.process" in _read(path / "cmdline") and mark in _read(path / "environ") + b"\0"
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
