"""OTLP's rows of the table of protocols: over HTTP, and over gRPC in a process of its own (otlp_grpc/)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from flask import Request

from errors import StorageUnavailable
from ingest.decoded import EMPTY, Decoded, Divided, Part
from ingest.otlp import answers, costs, logs, metrics, services, traces
from ingest.otlp.reading import PROTOBUF, require_media_type
from ingest.wire_cost import Shape
from web.ingestion.protocol import MOST_INLINE_BYTES, Endpoint, Protocol


@dataclass(frozen=True, slots=True)
class Export:
    """What one gRPC method takes: with the metadata `x-p-stream`, and without, where resources name their datasets."""

    named: Endpoint[Decoded]
    by_service: Endpoint[Decoded]


def http() -> Protocol:
    """OTLP/HTTP. Exporters drop their data at a 500, so an error that may have passed asks for another attempt."""
    return Protocol("otlp", (_LOGS, _METRICS, _TRACES), failure=answers.failure, fault=StorageUnavailable)


def grpc() -> Protocol:
    """OTLP/gRPC. Its errors become statuses of gRPC (otlp_grpc/answers.py)."""
    return Protocol("otlp_grpc", tuple(each.by_service for each in EXPORTS.values()), fault=StorageUnavailable)


def _signal(
    name: str, decode: Callable[..., Decoded], cost: Shape, time_field: str, rejected_name: str
) -> Endpoint[Decoded]:
    return Endpoint(
        f"export_{name}",
        f"/v1/{name}",
        media_type=_media_type,
        decode=lambda body, media_type, max_columns: decode(body, media_type, max_columns=max_columns),
        success=partial(answers.success, rejected_name=rejected_name),
        telemetry_type=name,
        time_field=time_field,
        log_source=f"otel-{name}",
        inline_bytes=MOST_INLINE_BYTES,
        cost=partial(_cost, cost),
    )


def _cost(shape: Shape, body: bytes, media_type: str, limit: int) -> int:
    return shape.estimate(body, limit) if media_type == PROTOBUF else costs.json_estimate(body)


def _media_type(request: Request) -> str:
    require_media_type(request.mimetype)
    return request.mimetype


def _export(path: str, named: Endpoint[Decoded]) -> Export:
    by_service = replace(named, path=path, names_datasets=True, decode=partial(_decode_by_service, named))
    return Export(replace(named, path=path), by_service)


def _decode_by_service(named: Endpoint[Decoded], body: bytes, media_type: str, max_columns: int) -> Divided:
    """A part for each dataset that the resources' `service.name` names."""
    divided = services.divide(body)
    decoded = {name: named.decode(part, media_type, max_columns) for name, part in divided.items()}
    reasons: dict[str, int] = {}
    for each in decoded.values():
        for reason, count in each.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    message = next((each.message for each in decoded.values() if each.message), "")
    parts = tuple(Part(name, each.batch, each.metadata) for name, each in decoded.items())
    return Divided(EMPTY, reasons, message, parts=parts)


_LOGS: Final = _signal("logs", logs.decode, costs.LOGS, "time_unix_nano", "rejected_log_records")
_METRICS: Final = _signal("metrics", metrics.decode, costs.METRICS, "time_unix_nano", "rejected_data_points")
_TRACES: Final = _signal("traces", traces.decode, costs.TRACES, "span_start_time_unix_nano", "rejected_spans")

_COLLECTOR: Final = "/opentelemetry.proto.collector"
# By the path of the method, as HTTP/2 has it.
EXPORTS: Final[Mapping[str, Export]] = MappingProxyType(
    {
        export.named.path: export
        for export in (
            _export(f"{_COLLECTOR}.logs.v1.LogsService/Export", _LOGS),
            _export(f"{_COLLECTOR}.metrics.v1.MetricsService/Export", _METRICS),
            _export(f"{_COLLECTOR}.trace.v1.TraceService/Export", _TRACES),
        )
    }
)
