"""Elasticsearch's answers: a result for each item, and its shape of an error."""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from secrets import randbits
from typing import Any, Final
from uuid import uuid4

import orjson

from errors import WeirError
from ingest.decoded import Answer, RefusedPart, Stored
from ingest.elasticsearch.bulk import Action
from ingest.elasticsearch.decoding import DecodedBulk
from ingest.elasticsearch.filter_path import ALL, Paths

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


def success(stored: Stored[DecodedBulk], paths: Paths = ALL) -> Answer:
    """200 with the result of each item: 201 for a stored one, what is wrong for another."""
    decoded = stored.decoded()
    request_id = uuid4().hex[:16]
    answer: dict[str, Any] = {"took": 0, "errors": bool(decoded.faults or stored.refused)}
    if answer["errors"]:
        numbers = range(len(decoded.items.actions))
        answer["items"] = [_result(stored.refused, decoded, number, f"{request_id}{number}") for number in numbers]
        return Answer(orjson.dumps(paths.of(answer) or {}), JSON)
    answer = paths.of(answer) or {}
    results = _results(decoded, paths, request_id)
    if results or not (paths.kept or paths.dropped):
        answer["items"] = results
    return Answer(orjson.dumps(answer), JSON)


def _results(decoded: DecodedBulk, paths: Paths, request_id: str) -> orjson.Fragment | list[dict[str, Any]]:
    """Those of items that are all stored, as far as the paths want them; what they have in common is made once."""
    # Actions that differ in their ids are told of alike.
    one_of = {action[:2]: action for action in decoded.items.kinds}
    told_of = {key: _told(action, decoded, paths) for key, action in one_of.items()}
    if len(decoded.items.kinds) == 1:
        (action,) = decoded.items.kinds
        if action.id is None:
            return _alike(action.name, told_of[action[:2]], len(decoded.items.actions), request_id)
    results: list[dict[str, Any]] = []
    for number, action in enumerate(decoded.items.actions):
        if told := told_of[action[:2]]:
            own = {"_id": action.id or f"{request_id}{number}", "_seq_no": number}
            results.append({action.name: told | {name: own[name] for name in own.keys() & told.keys()}})
    return results


def _told(action: Action, decoded: DecodedBulk, paths: Paths) -> dict[str, Any]:
    """What the paths want to be told of such an item, once it is stored."""
    whole = {action.name: _stored_result(action.index_name or decoded.dataset, "", 0)}
    wanted: dict[str, Any] = paths.of({"items": [whole]}) or {}
    item: dict[str, Any] = next(iter(wanted.get("items") or [{}]), {})
    told: dict[str, Any] = item.get(action.name, {})
    return told


def _alike(name: str, told: dict[str, Any], count: int, request_id: str) -> orjson.Fragment | list[dict[str, Any]]:
    """The results of items that differ in their numbers alone, as one text; none where nothing is told."""
    if not told:
        return []
    # Nobody can foresee this number, so that nothing else in the text is taken for it.
    place = randbits(62) | 1 << 62
    own = {"_id": f"{request_id}{place}", "_seq_no": place}
    text = orjson.dumps({name: told | {each: own[each] for each in own.keys() & told.keys()}}).decode()
    pieces = text.split(str(place))
    return orjson.Fragment(f"[{','.join([str(number).join(pieces) for number in range(count)])}]")


def _stored_result(index: str | None, identifier: str, number: int) -> dict[str, Any]:
    return {
        "_index": index,
        "_id": identifier,
        "_version": 1,
        "result": "created",
        "_shards": _SHARDS,
        "_seq_no": number,
        "_primary_term": 1,
        "status": 201,
    }


def _result(refused: Mapping[str, RefusedPart], decoded: DecodedBulk, number: int, new_id: str) -> dict[str, Any]:
    action = decoded.items.actions[number]
    told = {"_index": action.index_name or decoded.dataset, "_id": action.id or new_id}
    fault = None if decoded.faults is None else decoded.faults.get(number)
    part = refused.get(decoded.dataset or action.dataset)
    if fault is not None:
        return {action.name: {**told, "status": _BAD_REQUEST, "error": _cause(_BAD_REQUEST, fault)}}
    if part is not None:
        return {action.name: {**told, "status": part.status, "error": _cause(part.status, part.error)}}
    return {action.name: _stored_result(told["_index"], str(told["_id"]), number)}


def failure(media_type: str, status: int, error: WeirError) -> Answer:
    """The refusal of a whole request."""
    cause = _cause(status, error)
    return Answer(orjson.dumps({"error": {"root_cause": [cause], **cause}, "status": status}), JSON, status)


def _cause(status: int, error: WeirError) -> dict[str, str]:
    return {"type": _TYPES.get(status, "illegal_argument_exception"), "reason": error.message}


BANNER: Final[Mapping[str, object]] = {
    "name": "weir",
    "cluster_name": "weir",
    "cluster_uuid": "weir",
    "version": {
        # Senders compare it with their own; the last of the versions whose bulk API this is.
        "number": "8.17.0",
        "build_flavor": "default",
        "lucene_version": "9.12.0",
        "minimum_wire_compatibility_version": "7.17.0",
        "minimum_index_compatibility_version": "7.0.0",
    },
    "tagline": "You Know, for Search",
}
"""What clients recognise Elasticsearch by."""

_MEDIA_TYPE: Final = "application/vnd.elasticsearch+"
_AGENTS: Final = ("elasticsearch", "elastic-", "logstash/")


def is_client(agent: str, accept: str, client_meta: str | None) -> bool:
    """Whether a request comes from a client of Elasticsearch, by its User-Agent, Accept and X-Elastic-Client-Meta.

    >>> is_client("Elastic-Filebeat/8.17.0 (linux)", "application/json", None), is_client("curl/8", "text/html", None)
    (True, False)
    """
    return client_meta is not None or _MEDIA_TYPE in accept or agent.lower().startswith(_AGENTS)


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
