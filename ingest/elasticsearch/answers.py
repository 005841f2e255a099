"""Elasticsearch's answers: a result for each item, and its shape of an error."""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

import orjson

from errors import WeirError
from ingest.decoded import Answer, RefusedPart, Stored
from ingest.elasticsearch.decoding import DecodedBulk
from ingest.elasticsearch.filter_path import Paths, filtered

JSON: Final = "application/json"
HEADERS: Final = {"X-Elastic-Product": "Elasticsearch"}
_SHARDS: Final = {"total": 1, "successful": 1, "failed": 0}
_TYPES: Final = {
    400: "document_parsing_exception",
    401: "security_exception",
    403: "security_exception",
    404: "resource_not_found_exception",
    413: "content_too_long_exception",
    415: "media_type_header_exception",
    429: "es_rejected_execution_exception",
    503: "es_rejected_execution_exception",
}
_BAD_REQUEST: Final = 400


def success(stored: Stored[DecodedBulk], paths: Paths = ()) -> Answer:
    """200 with the result of each item: 201 for a stored one, what is wrong for another."""
    decoded = stored.decoded()
    request_id = uuid4().hex[:16]
    results = [
        _result(stored.refused, decoded, number, f"{request_id}{number}") for number in range(len(decoded.items))
    ]
    errors = bool(decoded.faults or stored.refused)
    answer: Any = {"took": 0, "errors": errors, "items": results}
    return Answer(orjson.dumps(filtered(answer, paths) or {} if paths else answer), JSON)


def _result(refused: Mapping[str, RefusedPart], decoded: DecodedBulk, number: int, new_id: str) -> dict[str, Any]:
    action = decoded.items[number].action
    told = {"_index": action.index_name or decoded.dataset, "_id": action.id or new_id}
    fault = None if decoded.faults is None else decoded.faults.get(number)
    part = refused.get(decoded.dataset or action.dataset)
    if fault is not None:
        return {action.name: {**told, "status": _BAD_REQUEST, "error": _cause(_BAD_REQUEST, fault)}}
    if part is not None:
        return {action.name: {**told, "status": part.status, "error": _cause(part.status, part.error)}}
    stored = {
        "_version": 1,
        "result": "created",
        "_shards": _SHARDS,
        "_seq_no": number,
        "_primary_term": 1,
        "status": 201,
    }
    return {action.name: {**told, **stored}}


def failure(media_type: str, status: int, error: WeirError) -> Answer:
    """The refusal of a whole request."""
    cause = _cause(status, error)
    return Answer(orjson.dumps({"error": {"root_cause": [cause], **cause}, "status": status}), JSON, status)


def _cause(status: int, error: WeirError) -> dict[str, str]:
    return {"type": _TYPES.get(status, "illegal_argument_exception"), "reason": error.message}


def key_of(authorization: str) -> str | None:
    """The secret in `Authorization: ApiKey base64(id:secret)`; the secret alone proves who asks.

    >>> key_of("ApiKey aWQ6c2VjcmV0"), key_of("Basic abc")
    ('secret', None)
    """
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "apikey":
        return None
    try:
        return b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except (Error, UnicodeDecodeError):
        return ""
