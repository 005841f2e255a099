"""What Prometheus' API has in common: its error shape, its parameters, the dataset that a request is about."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from flask import Response, jsonify, request

import errors
from auth.privileges import Action, may
from errors import InvalidPromQL, InvalidRequest, WeirError
from models import dataset
from promql.durations import parse_duration
from query.process.result import Result
from web.caller import caller
from web.errors import headers_of, log_error, status_of
from web.results import Body

METRICS: Final = "metrics"
# web/api/v1/api.go: errorType. Of ours, 401 and 403 have no match there.
_TYPES: Final[Mapping[type[WeirError], tuple[str, int | None]]] = MappingProxyType(
    {
        errors.QueryCancelled: ("canceled", 503),
        errors.QueryTooLarge: ("execution", 422),
        errors.PromQLFailed: ("execution", 422),
        errors.TimedOut: ("timeout", 503),
        errors.Unauthenticated: ("unauthorized", None),
        errors.Forbidden: ("forbidden", None),
        errors.NotFound: ("not_found", None),
        errors.InvalidRequest: ("bad_data", None),
        errors.Overloaded: ("unavailable", None),
    }
)
# Times of Go's minTime and maxTime, which `series` takes where none is given; ours are those of 64-bit nanoseconds.
FIRST_MS: Final = -(2**63) // 1_000_000 + 1
LAST_MS: Final = 2**63 // 1_000_000 - 1
_RFC3339: Final = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)")


def error_response(error: WeirError) -> Response:
    """Every error of these routes, in Prometheus' shape."""
    family = next((each for each in type(error).__mro__ if each in _TYPES), None)
    kind, own_status = _TYPES[family] if family is not None else ("internal", None)
    status = own_status or status_of(error)
    log_error(error, status)
    answer = jsonify({"status": "error", "errorType": kind, "error": error.message})
    answer.status_code = status
    answer.headers.extend(headers_of(error))
    return answer


def unforeseen_response(error: Exception) -> Response:
    """A fault of ours; the log gets the rest."""
    fault = errors.InternalError("an error on our side; the log tells more")
    fault.__cause__ = error
    return error_response(fault)


def success(data: object) -> Response:
    return jsonify({"status": "success", "data": data})


def streamed(result: Result) -> Response:
    """The answer of a query process, as it is."""
    answer = Response(Body(result), content_type="application/json", direct_passthrough=True)
    answer.headers["Vary"] = "Accept-Encoding"
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    if result.coding != "identity":
        answer.headers["Content-Encoding"] = result.coding
    if result.length is not None:
        answer.headers["Content-Length"] = str(result.length)
    return answer


def parameter(name: str) -> str:
    """Of the query string or of a form; empty where it is not sent."""
    return request.values.get(name, "")


def invalid(name: str, reason: str) -> InvalidPromQL:
    return InvalidPromQL(f'invalid parameter "{name}": {reason}')


def with_name(error: InvalidPromQL, name: str) -> InvalidPromQL:
    """An error of an expression, with the parameter that it came in."""
    return error if error.message.startswith("invalid ") else invalid(name, error.message)


def dataset_name(named: str | None) -> str:
    """The dataset of the path, else of `?stream=`, else of `X-P-Stream`, else the only one of metrics that the caller
    may read. Raises InvalidRequest, which names the choices."""
    name = named or parameter("stream") or request.headers.get("X-P-Stream", "")
    if name:
        return name
    found = [each.name for each in dataset.find_all(caller().tenant) if each.telemetry_type == METRICS]
    choices = sorted(each for each in found if may(caller(), Action.QUERY, each))
    if len(choices) == 1:
        return choices[0]
    listed = ", ".join(choices) or "none has metrics that you may read"
    raise InvalidRequest(f"name the dataset in the path, by ?stream= or by X-P-Stream: {listed}")


def series_names(family: str) -> frozenset[str]:
    """The names that the series of a metric family may have."""
    return frozenset(family + ending for ending in ("", "_bucket", "_count", "_sum", "_total", "_created", "_info"))


def time_ms(name: str, default: int | None) -> int:
    """A time as Unix seconds or RFC 3339, in ms. Raises InvalidPromQL."""
    text = parameter(name)
    if not text and default is not None:
        return default
    found = parse_time(text)
    if found is None:
        raise invalid(name, f'cannot parse "{text}" to a valid timestamp')
    return found


def parse_time(text: str) -> int | None:
    """Milliseconds; None for what is no time (web/api/v1/api.go, parseTime).

    >>> parse_time("1435781451.781"), parse_time("2015-07-01T20:10:51.781Z"), parse_time("x")
    (1435781451781, 1435781451781, None)
    """
    try:
        seconds = float(text)
    except ValueError:
        return _rfc3339_ms(text)
    if not math.isfinite(seconds):
        return None
    return max(FIRST_MS, min(LAST_MS, math.floor(seconds * 1000 + 0.5)))


def _rfc3339_ms(text: str) -> int | None:
    found = _RFC3339.fullmatch(text)
    if not found:
        return None
    try:
        whole = datetime.fromisoformat(found[1].upper() + found[3].upper().replace("Z", "+00:00"))
    except ValueError:
        return None
    return int(whole.timestamp()) * 1000 + int((found[2] or "0").ljust(9, "0")[:3])


def duration_ms(name: str) -> int:
    """A duration as seconds or as `5m`, in ms. Raises InvalidPromQL."""
    text = parameter(name)
    try:
        seconds = float(text)
    except ValueError:
        try:
            return parse_duration(text)
        except ValueError as error:
            raise invalid(name, f'cannot parse "{text}" to a valid duration') from error
    if not math.isfinite(seconds) or abs(seconds) > 2**63 / 1e9:
        raise invalid(name, f'cannot parse "{text}" to a valid duration. It overflows int64')
    return int(seconds * 1000)


def count(name: str) -> int:
    """A limit; 0 where there is none. Raises InvalidPromQL."""
    text = parameter(name)
    if not text:
        return 0
    if not text.isdigit() or len(text) > 18:
        reason = "must be non-negative" if text.startswith("-") and text[1:].isdigit() else f'cannot parse "{text}"'
        raise invalid(name, reason)
    return int(text)
