"""The table of protocols. A new one is a folder of decoder in ingest/ and a row here (docs/decisions/ingestion.md)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import time_ns

from flask import Request

from ingest.decoded import Decoded, Divided
from ingest.elasticsearch import answers as elasticsearch_answers
from ingest.elasticsearch import filter_path
from ingest.elasticsearch.decoding import DecodedBulk, Target
from ingest.elasticsearch.decoding import cost as bulk_cost
from ingest.elasticsearch.decoding import decode as decode_bulk
from ingest.json import answers as json_answers
from ingest.json import batch_decoding, decoding
from ingest.loki import answers as loki_answers
from ingest.loki import decoding as loki
from ingest.loki import rows as loki_rows
from ingest.remote_write import answers as remote_write_answers
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.costs import estimate, estimate_encoded
from ingest.remote_write.decoding import Version, decode_known, decode_plainly, version_of
from ingest.remote_write.rows import DecodedSamples
from ingest.splunk import answers as splunk_answers
from ingest.splunk import decoding as splunk
from ingest.splunk.decoding import decode_events, decode_raw
from web.bodies import require_json_type
from web.ingestion import otlp
from web.ingestion.protocol import MOST_INLINE_BYTES, Endpoint, Protocol, Shortcut


def protocols() -> tuple[Protocol, ...]:
    """All of them, for one worker: what a decoder learns from its requests is made here."""
    return (_json(), otlp.http(), _remote_write(Catalogue()), _loki(), _splunk(), _elasticsearch())


def _json() -> Protocol:
    """JSON events: the two endpoints of spec 4.2 that take them."""
    events = Endpoint(
        "ingest",
        "/api/v1/ingest",
        media_type=_json_type,
        decode=_decode_json,
        decode_together=batch_decoding.decode,
        success=json_answers.success,
        inline_bytes=MOST_INLINE_BYTES,
    )
    existing = replace(events, name="ingest_into", path="/api/v1/logstream/<name>", must_exist=True)
    return Protocol("ingestion", (events, existing))


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


def _loki() -> Protocol:
    """Loki push. Its protobuf is in snappy, which its senders do not say."""
    push = Endpoint(
        "push",
        "/loki/api/v1/push",
        media_type=lambda request: loki.media_type_of(request.mimetype),
        decode=loki.decode,
        success=loki_answers.success,
        inline_bytes=MOST_INLINE_BYTES,
        cost=loki.cost,
        names_datasets=True,
        bound=lambda _, dataset, __: replace(push, decode=partial(loki.decode, dataset=dataset)),
        coding=lambda request: "" if loki.media_type_of(request.mimetype) == loki.JSON else "snappy",
        time_field=loki_rows.TIME,
    )
    return Protocol("loki", (push,), failure=loki_answers.failure)


def _splunk() -> Protocol:
    """Splunk's HTTP Event Collector. Any media type: its senders put form data or nothing there."""
    events = Endpoint(
        "collect",
        "/services/collector",
        aliases=("/services/collector/event", "/services/collector/event/1.0"),
        media_type=lambda request: request.mimetype,
        decode=partial(decode_events, request=splunk.Request(None, 0)),
        success=splunk_answers.success,
        inline_bytes=MOST_INLINE_BYTES,
        names_datasets=True,
        bound=lambda request, dataset, _: replace(events, decode=_of_collector(decode_events, request, dataset)),
        time_field=splunk.TIME,
    )
    raw = replace(
        events,
        name="collect_raw",
        path="/services/collector/raw",
        aliases=("/services/collector/raw/1.0",),
        decode=partial(decode_raw, request=splunk.Request(None, 0)),
        bound=lambda request, dataset, _: replace(raw, decode=_of_collector(decode_raw, request, dataset)),
    )
    return Protocol("splunk", (events, raw), failure=splunk_answers.failure, key_of=splunk_answers.key_of)


def _elasticsearch() -> Protocol:
    """Elasticsearch's bulk API, whose failures are told item by item. Its Python client sends PUT."""
    bulk = Endpoint(
        "bulk",
        "/_bulk",
        aliases=("/<name>/_bulk", "/elasticsearch/_bulk", "/elasticsearch/<name>/_bulk"),
        methods=("POST", "PUT"),
        media_type=lambda request: request.mimetype,
        decode=partial(decode_bulk, target=Target(None, None)),
        success=elasticsearch_answers.success,
        inline_bytes=MOST_INLINE_BYTES,
        cost=bulk_cost,
        names_datasets=True,
        refuses_parts=True,
        bound=lambda request, dataset, index: _of_bulk(bulk, request, Target(dataset, index)),
    )
    return Protocol(
        "elasticsearch",
        (bulk,),
        failure=elasticsearch_answers.failure,
        key_of=elasticsearch_answers.key_of,
        headers=elasticsearch_answers.HEADERS,
    )


def _of_bulk(bulk: Endpoint[DecodedBulk], request: Request, target: Target) -> Endpoint[DecodedBulk]:
    paths = filter_path.parse(request.args.get("filter_path", ""))
    success = partial(elasticsearch_answers.success, paths=paths)
    return replace(bulk, decode=partial(decode_bulk, target=target), success=success)


def _of_collector(decode: Callable[..., Divided], request: Request, dataset: str | None) -> Callable[..., Divided]:
    origins = {name: text for name in splunk.ORIGINS if (text := request.args.get(name))}
    return partial(decode, request=splunk.Request(dataset, time_ns(), origins))


def _short_cost(body: bytes, content_type: str, _: int) -> int:
    return estimate_encoded(body) if version_of(content_type) is Version.ONE else 0


def _decode_json(body: bytes, media_type: str, max_columns: int) -> Decoded:
    return Decoded(decoding.decode(body, max_columns=max_columns))


def _json_type(request: Request) -> str:
    require_json_type(request)
    return request.mimetype


def _remote_write_type(request: Request) -> str:
    """All of it: a parameter names the version."""
    content_type = request.content_type or ""
    version_of(content_type)
    return content_type
