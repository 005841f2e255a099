"""OTLP logs per second, one core: protobuf and JSON against the plain per-record walk, in one run.

    python -m bench.otlp_decode

The payload is what a Collector forwards: 8,192 records of 8 services, 6 attributes each, of which one is unique to
its record and one has a thousand values.
"""

import random
import time
from collections.abc import Callable
from uuid import UUID

import orjson
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from bench import plain_otlp
from ingest.otlp import logs

RECORDS = 8192


def _pair(key: str, value: str | int) -> KeyValue:
    any_value = AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value)
    return KeyValue(key=key, value=any_value)


def _record(number: int, rng: random.Random) -> LogRecord:
    return LogRecord(
        time_unix_nano=1_795_000_000_000_000_000 + number * 1_000_003,
        observed_time_unix_nano=1_795_000_000_500_000_000 + number * 1_000_003,
        severity_number=9,
        severity_text="INFO",
        body=AnyValue(string_value=f"GET /api/v1/items/{rng.randrange(10**6)} took {rng.randrange(900)} ms"),
        trace_id=rng.randbytes(16),
        span_id=rng.randbytes(8),
        attributes=[
            _pair("http.request.method", rng.choice(("GET", "POST", "PUT"))),
            _pair("http.response.status_code", rng.choice((200, 201, 404, 500))),
            _pair("url.path", f"/api/v1/items/{rng.randrange(1000)}"),
            _pair("code.namespace", rng.choice(("shop.cart", "shop.order", "shop.user"))),
            _pair("thread.id", rng.randrange(64)),
            _pair("request.id", str(UUID(int=rng.getrandbits(128)))),
        ],
    )


def payload(records: int = RECORDS, seed: int = 7) -> LogsData:
    rng = random.Random(seed)
    request = LogsData()
    for service in range(8):
        group = request.resource_logs.add()
        group.resource.attributes.extend(
            [_pair("service.name", f"shop-{service}"), _pair("host.name", f"node-{service % 3}"), _pair("env", "prod")]
        )
        scope = group.scope_logs.add()
        scope.scope.name = "io.example.http"
        scope.log_records.extend(_record(number, rng) for number in range(service, records, 8))
    return request


def to_json(request: LogsData) -> bytes:
    """OTLP JSON as the JavaScript exporter writes it."""
    groups = []
    for group in request.resource_logs:
        records = [
            {
                "timeUnixNano": str(record.time_unix_nano),
                "observedTimeUnixNano": str(record.observed_time_unix_nano),
                "severityNumber": record.severity_number,
                "severityText": record.severity_text,
                "body": {"stringValue": record.body.string_value},
                "traceId": record.trace_id.hex(),
                "spanId": record.span_id.hex(),
                "attributes": [_json_pair(pair) for pair in record.attributes],
            }
            for record in group.scope_logs[0].log_records
        ]
        resource = {"attributes": [_json_pair(pair) for pair in group.resource.attributes]}
        scope = {"scope": {"name": group.scope_logs[0].scope.name}, "logRecords": records}
        groups.append({"resource": resource, "scopeLogs": [scope]})
    return orjson.dumps({"resourceLogs": groups})


def _json_pair(pair: KeyValue) -> dict[str, object]:
    if pair.value.WhichOneof("value") == "int_value":
        return {"key": pair.key, "value": {"intValue": pair.value.int_value}}
    return {"key": pair.key, "value": {"stringValue": pair.value.string_value}}


def best_seconds(function: Callable[[], object], repeats: int = 7) -> float:
    function()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    request = payload()
    protobuf, json = request.SerializeToString(), to_json(request)
    plain = best_seconds(lambda: plain_otlp.frame(protobuf))
    cases = {
        "plain walk, protobuf": plain,
        "decode, protobuf": best_seconds(lambda: logs.decode(protobuf, "application/x-protobuf")),
        "decode, JSON": best_seconds(lambda: logs.decode(json, "application/json")),
        "orjson alone": best_seconds(lambda: orjson.loads(json)),
    }
    print(f"{RECORDS} records: protobuf {len(protobuf):,} bytes, JSON {len(json):,} bytes")
    for name, seconds in cases.items():
        print(f"{name:24} {seconds * 1e3:8.1f} ms {RECORDS / seconds:10,.0f} records/s {plain / seconds:6.2f} x plain")


if __name__ == "__main__":
    main()
