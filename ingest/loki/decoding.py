"""The door: from a decompressed push to the rows of each dataset. JSON, and the protobuf of Promtail and Alloy."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from google.protobuf.message import DecodeError

from errors import InvalidBody, InvalidEvent, MissingHeader, UnsupportedMedia
from ingest.batch_builder import MAX_COLUMNS
from ingest.dataset_naming import dataset_named
from ingest.decoded import EMPTY, Divided, Part
from ingest.encoded_pairs import columns_of
from ingest.gc_pause import uncollected
from ingest.json.exact import loads
from ingest.loki import labels
from ingest.loki.rows import Rows
from ingest.proto.loki import LabelPair, PushRequest
from ingest.sparse_column import Sparse, rows_by
from ingest.wire_cost import Field, Shape, sized

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
# As Loki's own agents find it out.
SERVICE: Final = "service_name"

# Of LabelPair: both are length-delimited.
_NAME_TAG: Final = 0x0A
_VALUE_TAG: Final = 0x12

_PAIR: Final = Field(250)
# Of the text of labels: the shortest label is five bytes.
_LABELS: Final = Field(100, per_byte=40)
_ENTRY: Final = Field(800, fields={sized(3): _PAIR}, scanned=True)
# bench/wire_cost.py
COST: Final = Shape({sized(1): Field(400, fields={sized(1): _LABELS, sized(2): _ENTRY})})
_JSON_VALUE_BYTES: Final = 150


def media_type_of(media_type: str) -> str:
    """JSON or protobuf, which is what Loki takes a request without a type for. Raises UnsupportedMedia."""
    if media_type not in ("", JSON, PROTOBUF):
        raise UnsupportedMedia(f"media type {media_type[:100]!r} is no Loki push: send {JSON} or {PROTOBUF}")
    return media_type or PROTOBUF


def cost(body: bytes, media_type: str, limit: int) -> int:
    """Bytes of memory that the objects of the body take, an upper bound."""
    if media_type == PROTOBUF:
        return COST.estimate(body, limit)
    return _JSON_VALUE_BYTES * (body.count(b",") + body.count(b"[") + body.count(b"{"))


@uncollected
def decode(body: bytes, media_type: str, max_columns: int = MAX_COLUMNS, *, dataset: str | None = None) -> Divided:
    """The entries of all streams, in the order of the request, one row each, by dataset.

    `dataset` takes all of them; without it each stream's label `service_name` names its own. Raises InvalidJSON,
    InvalidBody, InvalidEvent (an entry), MissingHeader (no dataset), TooManyColumns and TooLarge.
    """
    request = _Request(dataset, max_columns)
    if media_type == JSON:
        _add_json(request, loads(body))
    else:
        _add_protobuf(request, body)
    return request.divided()


class _Request:
    """The rows of each dataset, while the streams are read."""

    def __init__(self, dataset: str | None, max_columns: int) -> None:
        self._dataset = dataset
        self._max_columns = max_columns
        self._rows: dict[str, Rows] = {}

    def rows(self, stream: Mapping[str, str]) -> Rows:
        name = self._dataset or dataset_named(stream.get(SERVICE, ""))
        if not name:
            raise MissingHeader(
                f"neither the header X-P-Stream nor a label {SERVICE} names the dataset", field="X-P-Stream"
            )
        if name not in self._rows:
            self._rows[name] = Rows(self._max_columns)
        return self._rows[name]

    def divided(self) -> Divided:
        return Divided(EMPTY, parts=tuple(Part(name, rows.finish()) for name, rows in self._rows.items()))


def _add_protobuf(request: _Request, body: bytes) -> None:
    try:
        push = PushRequest.FromString(body)
    except DecodeError as error:
        raise InvalidBody(f"the body is not a Loki push message: {error}") from error
    for stream in push.streams:
        entries = stream.entries[:]
        if not entries:
            continue
        named = labels.parse(_text(stream.labels))
        rows = request.rows(named)
        stamps = [entry.timestamp for entry in entries]
        times = [stamp.seconds * 1_000_000_000 + stamp.nanos for stamp in stamps]
        first = rows.add_stream(named, times, [_text(entry.line) for entry in entries])
        rows.add_metadata_columns(
            first, columns_of([entry.structuredMetadata[:] for entry in entries], _pair, bytes((_VALUE_TAG,)))
        )


def _pair(encoded: bytes) -> tuple[str, str]:
    """Name and value of an encoded LabelPair. Most are short and need no message object."""
    size = len(encoded)
    text = 4 + encoded[1] if size > 3 else size
    is_short = 4 < text <= size < 130 and encoded[0] == _NAME_TAG
    if is_short and encoded[text - 2] == _VALUE_TAG and encoded[text - 1] == size - text:
        return _text(encoded[2 : text - 2]), _text(encoded[text:])
    try:
        pair = LabelPair.FromString(encoded)
    except DecodeError as error:
        raise InvalidBody(f"the body is not a Loki push message: {error}") from error
    return _text(pair.name), _text(pair.value)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _add_json(request: _Request, push: Any) -> None:
    streams = push.get("streams") if isinstance(push, dict) else None
    if not isinstance(streams, list):
        raise InvalidBody('a Loki push is {"streams": [{"stream": {...}, "values": [["<ns>", "<line>"], ...]}]}')
    for stream in streams:
        named, values = _parts_of(stream)
        if values:
            _add_values(request.rows(named), named, values)


def _parts_of(stream: Any) -> tuple[Mapping[str, str], Sequence[Any]]:
    named: Any = stream.get("stream") if isinstance(stream, dict) else None
    values = stream.get("values") if isinstance(stream, dict) else None
    if not _is_texts(named) or not isinstance(values, list):
        raise InvalidBody("a stream has labels of text, `stream`, and entries, `values`")
    return named, values


def _add_values(rows: Rows, named: Mapping[str, str], values: Sequence[Any]) -> None:
    if not _are_plain(values):
        for index, value in enumerate(values):
            _require_entry(value, index)
    times = [int(value[0]) for value in values]
    first = rows.add_stream(named, times, [value[1] for value in values])
    if max(map(len, values)) > 2:
        rows.add_metadata_columns(first, _metadata([value[2] if len(value) > 2 else {} for value in values]))


def _are_plain(values: Sequence[Any]) -> bool:
    """Whether all are entries of the usual form, judged together; `_require_entry` judges each by itself."""
    if set(map(type, values)) != {list} or not set(map(len, values)) <= {2, 3}:
        return False
    times = [value[0] for value in values]
    if set(map(type, times)) != {str} or {type(value[1]) for value in values} != {str}:
        return False
    metadata = [value[2] for value in values if len(value) > 2]
    is_plain_time = max(map(len, times)) <= 20 and min(map(len, times)) > 0 and "".join(times).isdecimal()
    return is_plain_time and "".join(times).isascii() and set(map(type, metadata)) <= {dict} and _hold_texts(metadata)


def _hold_texts(objects: Sequence[dict[str, Any]]) -> bool:
    return set(map(type, chain.from_iterable(map(dict.values, objects)))) <= {str}


def _metadata(objects: Sequence[dict[str, str]]) -> dict[str, Sparse]:
    """Objects of texts as columns: those of the same names in the same order are taken together."""
    columns: dict[str, Sparse] = {}
    for names, rows in rows_by(list(map(tuple, objects))).items():
        places = zip(*map(dict.values, map(objects.__getitem__, rows)), strict=True)
        for name, values in zip(names, places, strict=True):
            column = columns.setdefault(name, Sparse())
            column.rows.extend(rows)
            column.values.extend(values)
    return columns


def _require_entry(value: Any, index: int) -> None:
    if type(value) is not list or not 2 <= len(value) <= 3 or type(value[1]) is not str:
        raise InvalidEvent('an entry is ["<unix time in ns>", "<line>"], and may have an object of texts', index=index)
    if len(value) > 2 and not _is_texts(value[2]):
        raise InvalidEvent("the structured metadata of an entry is not an object of texts", index=index)
    time = value[0]
    if type(time) is not str or not time.isascii() or not time.removeprefix("-").isdecimal() or len(time) > 20:
        raise InvalidEvent("the time of an entry is not a text of nanoseconds since 1970", index=index)


def _is_texts(value: Any) -> bool:
    return type(value) is dict and set(map(type, value.values())) <= {str}
