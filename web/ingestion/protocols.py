"""The table of protocols. A new one is a folder of decoder in ingest/ and a row here (docs/decisions/ingestion.md)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from flask import Request

from errors import StorageUnavailable
from ingest.decoded import Decoded
from ingest.json import answers as json_answers
from ingest.json import batch_decoding, decoding
from ingest.otlp import answers as otlp_answers
from ingest.otlp import costs, logs, metrics, traces
from ingest.otlp.reading import PROTOBUF, require_media_type
from ingest.remote_write import answers as remote_write_answers
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.costs import estimate, estimate_encoded
from ingest.remote_write.decoding import Version, decode_known, decode_plainly, version_of
from ingest.remote_write.rows import DecodedSamples
from ingest.wire_cost import Shape
from web.bodies import require_json_type
from web.ingestion.protocol import Endpoint, Protocol, Shortcut

# Decoding JSON holds the interpreter wherever it runs: up to this size, a few milliseconds, a thread only costs.
JSON_INLINE_BYTES: Final = 512 * 1024


def protocols() -> tuple[Protocol, ...]:
    """All of them, for one worker: what a decoder learns from its requests is made here."""
    return (_json(), _otlp(), _remote_write(Catalogue()))


def _json() -> Protocol:
    """JSON events: the two endpoints of spec 4.2 that take them."""
    events = Endpoint(
        "ingest",
        "/api/v1/ingest",
        media_type=_json_type,
        decode=_decode_json,
        decode_together=batch_decoding.decode,
        success=json_answers.success,
        inline_bytes=JSON_INLINE_BYTES,
    )
    existing = replace(events, name="ingest_into", path="/api/v1/logstream/<name>", must_exist=True)
    return Protocol("ingestion", (events, existing))


def _otlp() -> Protocol:
    """OTLP/HTTP. Exporters drop their data at a 500, so an error that may have passed asks for another attempt."""
    return Protocol(
        "otlp",
        (
            _signal("logs", logs.decode, costs.LOGS, "time_unix_nano", "rejected_log_records"),
            _signal("metrics", metrics.decode, costs.METRICS, "time_unix_nano", "rejected_data_points"),
            _signal("traces", traces.decode, costs.TRACES, "span_start_time_unix_nano", "rejected_spans"),
        ),
        failure=otlp_answers.failure,
        fault=StorageUnavailable,
    )


def _signal(
    name: str, decode: Callable[..., Decoded], cost: Shape, time_field: str, rejected_name: str
) -> Endpoint[Decoded]:
    return Endpoint(
        f"export_{name}",
        f"/v1/{name}",
        media_type=_otlp_type,
        decode=lambda body, media_type, max_columns: decode(body, media_type, max_columns=max_columns),
        success=partial(otlp_answers.success, rejected_name=rejected_name),
        telemetry_type=name,
        time_field=time_field,
        log_source=f"otel-{name}",
        cost=partial(_otlp_cost, cost),
    )


def _otlp_cost(shape: Shape, body: bytes, media_type: str, limit: int) -> int:
    return shape.estimate(body, limit) if media_type == PROTOBUF else costs.json_estimate(body)


def _remote_write(catalogue: Catalogue) -> Protocol:
    """Prometheus remote write 1.0 and 2.0, over the series that this worker has seen."""

    def decode(body: bytes, content_type: str, max_columns: int) -> DecodedSamples:
        return decode_plainly(body, version_of(content_type), max_columns)

    def decode_short(body: bytes, content_type: str, max_columns: int) -> DecodedSamples | None:
        return decode_known(body, catalogue, max_columns) if version_of(content_type) is Version.ONE else None

    def cost(body: bytes, content_type: str, limit: int) -> int:
        return estimate(body, version_of(content_type), limit)

    write = Endpoint(
        "write",
        "/v1/prometheus/write",
        media_type=_remote_write_type,
        decode=decode,
        success=remote_write_answers.success,
        telemetry_type="metrics",
        time_field="time_unix_nano",
        log_source="otel-metrics",
        cost=cost,
        shortcut=Shortcut(decode_short, _short_cost),
    )
    return Protocol("remote_write", (write,), failure=remote_write_answers.failure)


def _short_cost(body: bytes, content_type: str, _: int) -> int:
    return estimate_encoded(body) if version_of(content_type) is Version.ONE else 0


def _decode_json(body: bytes, media_type: str, max_columns: int) -> Decoded:
    return Decoded(decoding.decode(body, max_columns=max_columns))


def _json_type(request: Request) -> str:
    require_json_type(request)
    return request.mimetype


def _otlp_type(request: Request) -> str:
    require_media_type(request.mimetype)
    return request.mimetype


def _remote_write_type(request: Request) -> str:
    """All of it: a parameter names the version."""
    content_type = request.content_type or ""
    version_of(content_type)
    return content_type
