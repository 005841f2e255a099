"""The only place that reads `X-P-*` headers and the Idempotency-Key: what a request says of itself."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from errors import InvalidHeader, InvalidName, MissingHeader

DATASET_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
SQL_KEYWORDS: Final = frozenset(
    "all and any array as asc between by case cast check column constraint create cross current_date current_time "
    "current_timestamp current_user default delete desc distinct drop else end except exists false fetch for foreign "
    "from full grant group having in inner insert intersect into is join lateral left like limit natural not null "
    "offset on only or order outer primary references returning right select session_user some sql table then to true "
    "union unique update user using values when where window with".split()
)
# The headers with a meaning of their own; any other X-P-<Name> becomes a column (api.md section 4).
KNOWN: Final = frozenset(
    "custom-partition dataset-kind dataset-label dataset-labels dataset-tag dataset-tags extract-log infer-timestamp "
    "log-source static-schema-flag stream stream-type telemetry-type tenant time-partition time-partition-limit "
    "update-stream".split()
)
LARGEST_EXTRA_COLUMNS: Final = 10
LONGEST_IDEMPOTENCY_KEY: Final = 255
# More headers than a shipper sends are not worth their room: each may have 8 kB.
MOST_REMEMBERED: Final = 6
# How WSGI writes the beginning of these headers' names.
PREFIX: Final = "HTTP_X_P_"
DATASET_KINDS: Final = ("events", "lookup")
TELEMETRY_TYPES: Final = ("logs", "metrics", "traces", "events")


class IngestHeaders(NamedTuple):
    """The `X-P-*` headers of one request. Absent headers are None; `extra` maps column names to their values."""

    stream: str | None
    log_source: str | None
    telemetry_type: str | None
    time_partition: str | None
    is_lookup: bool
    custom_partition: str | None
    static_schema: bool
    extra: Mapping[str, str]
    idempotency_key: str | None


def read(environ: Mapping[str, Any]) -> IngestHeaders:
    """The headers of a WSGI request. Raises InvalidHeader for too many extra columns or an unknown telemetry type."""
    sent = tuple([(name, environ[name]) for name in environ if name.startswith(PREFIX)])
    headers = _remembered(sent) if len(sent) <= MOST_REMEMBERED else _parsed(sent)
    key = environ.get("HTTP_IDEMPOTENCY_KEY")
    return headers if key is None else headers._replace(idempotency_key=_idempotency_key(key.strip()))


def _parsed(sent_headers: tuple[tuple[str, str], ...]) -> IngestHeaders:
    sent = {name[len(PREFIX) :].replace("_", "-").lower(): value.strip() for name, value in sent_headers}
    return IngestHeaders(
        stream=sent.get("stream") or None,
        log_source=_lowered(sent.get("log-source")),
        telemetry_type=_telemetry_type(_lowered(sent.get("telemetry-type"))),
        time_partition=sent.get("time-partition") or None,
        is_lookup=_is_lookup(_lowered(sent.get("dataset-kind"))),
        custom_partition=sent.get("custom-partition") or None,
        static_schema=_lowered(sent.get("static-schema-flag")) == "true",
        extra=MappingProxyType(_extra(sent)),
        idempotency_key=None,
    )


# A sender's headers are nearly always those of its request before.
_remembered: Final = lru_cache(maxsize=256)(_parsed)


def require_stream(headers: IngestHeaders) -> str:
    """The dataset named by `X-P-Stream` (spec 4.2 rule 1). Raises MissingHeader, InvalidName."""
    if headers.stream is None:
        raise MissingHeader("the header X-P-Stream names the dataset and is missing", field="X-P-Stream")
    return checked_dataset_name(headers.stream)


def require_log_source(headers: IngestHeaders, expected: str) -> None:
    """`X-P-Log-Source` must be there and say `expected` (spec 4.2). Raises MissingHeader, InvalidHeader."""
    if headers.log_source is None:
        raise MissingHeader(f"the header X-P-Log-Source is missing; send {expected!r}", field="X-P-Log-Source")
    if headers.log_source != expected:
        raise InvalidHeader(
            f"X-P-Log-Source is {headers.log_source[:100]!r}; this endpoint takes {expected!r}", field="X-P-Log-Source"
        )


def check_log_source(headers: IngestHeaders, expected: str | None) -> None:
    """`X-P-Log-Source` must say `expected`; of an endpoint that expects None, anything but OTLP's. Raises as above."""
    if expected is not None:
        require_log_source(headers, expected)
    elif headers.log_source is not None and headers.log_source.startswith("otel-"):
        # An OTLP payload stored as something else would look accepted and be useless.
        raise InvalidHeader(
            f"X-P-Log-Source {headers.log_source[:100]!r} belongs to /v1/logs, /v1/metrics and /v1/traces",
            field="X-P-Log-Source",
        )


def checked_dataset_name(name: str) -> str:
    """`name`, when a dataset may be called so: 1-100 letters, digits, `-`, `_`; no SQL keyword; not `p_...`."""
    if not DATASET_NAME.fullmatch(name):
        raise InvalidName("a dataset name is 1 to 100 letters, digits, '-' and '_'", field="dataset")
    if name.lower() in SQL_KEYWORDS:
        raise InvalidName(f"a dataset cannot have the SQL keyword {name!r} as its name", field="dataset")
    if name.lower().startswith("p_"):
        raise InvalidName("a dataset name cannot start with 'p_'", field="dataset")
    return name


def _lowered(value: str | None) -> str | None:
    return value.lower() if value else None


def _telemetry_type(value: str | None) -> str | None:
    if value is not None and value not in TELEMETRY_TYPES:
        raise InvalidHeader(
            f"X-P-Telemetry-Type is one of {', '.join(TELEMETRY_TYPES)}, not {value[:100]!r}",
            field="X-P-Telemetry-Type",
        )
    return value


def _is_lookup(kind: str | None) -> bool:
    if kind not in (None, *DATASET_KINDS):
        raise InvalidHeader(
            f"X-P-Dataset-Kind is one of {', '.join(DATASET_KINDS)}, not {kind[:100]!r}", field="X-P-Dataset-Kind"
        )
    return kind == "lookup"


def _idempotency_key(key: str) -> str | None:
    if len(key) > LONGEST_IDEMPOTENCY_KEY:
        raise InvalidHeader(
            f"an Idempotency-Key has at most {LONGEST_IDEMPOTENCY_KEY} characters", field="Idempotency-Key"
        )
    return key or None


def _extra(sent: Mapping[str, str]) -> dict[str, str]:
    extra = {name: _decoded(value) for name, value in sent.items() if name and name not in KNOWN}
    if len(extra) > LARGEST_EXTRA_COLUMNS:
        raise InvalidHeader(
            f"{len(extra)} X-P-* headers would become columns; at most {LARGEST_EXTRA_COLUMNS} may",
            limit=LARGEST_EXTRA_COLUMNS,
        )
    return extra


def _decoded(value: str) -> str:
    """WSGI hands header bytes over as Latin-1; clients send UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8").strip()
    except UnicodeError:
        return value
