"""The door: from a decompressed body of the collector to the rows of each dataset.

Envelopes are read as any JSON events are, and so at the same speed; then the columns of `event` and `fields` get the
names that they are to have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from columns import Batch, ColumnType, Field
from errors import InvalidBody, InvalidEvent
from ingest.batch_builder import MAX_COLUMNS
from ingest.dataset_naming import dataset_named, require_few
from ingest.decoded import EMPTY, Divided, Part
from ingest.flatten import MAX_DEPTH
from ingest.json import decoding
from ingest.splunk.codes import BLANK_EVENT, DETAIL, INCORRECT_INDEX, INVALID_FIELDS, NO_DATA, NO_EVENT
from ingest.splunk.times import event_times

TIME: Final = "time"
MESSAGE: Final = "message"
_EVENT, _FIELDS = "event", "fields"
ORIGINS: Final = ("host", "source", "sourcetype", "index")
_OWN: Final = frozenset({TIME, MESSAGE, *ORIGINS, *decoding.RESERVED})

Columns = dict[Field, pl.Series]


@dataclass(frozen=True, slots=True)
class Request:
    """What a request says beside its body: its dataset, what its events do not say themselves, and when it came."""

    dataset: str | None
    now_ns: int
    origins: Mapping[str, str] = field(default_factory=dict)


def decode_events(body: bytes, media_type: str, max_columns: int = MAX_COLUMNS, *, request: Request) -> Divided:
    """The rows of envelopes, one behind the other or in an array, by dataset.

    Raises InvalidJSON, InvalidEvent (with the place of the event), InvalidBody (no data), TooManyColumns and TooLarge.
    """
    _require_data(body)
    # One level more than other events: that of the envelope.
    batch = decoding.decode(body, max_depth=MAX_DEPTH + 1, max_columns=max_columns, reserved=())
    sent = dict(zip(batch.fields, batch.columns, strict=True))
    _require_fields(sent)
    _require_events(sent, batch.height)
    times = event_times(_named(sent, TIME), batch.height, request.now_ns)
    return _divided({Field(TIME, ColumnType.TIMESTAMP_NS): times, **_columns(sent)}, batch.height, request)


def decode_raw(body: bytes, media_type: str, max_columns: int = MAX_COLUMNS, *, request: Request) -> Divided:
    """A row for each line that is not empty, by dataset. Raises InvalidBody (no data), InvalidEvent (no dataset)."""
    lines = [line for line in body.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        _require_data(b"")
    times = event_times({}, len(lines), request.now_ns)
    columns = {
        Field(TIME, ColumnType.TIMESTAMP_NS): times,
        Field(MESSAGE, ColumnType.UTF8): pl.Series(MESSAGE, lines, pl.String()),
    }
    return _divided(columns, len(lines), request)


def _require_data(body: bytes) -> None:
    if not body.strip():
        raise InvalidBody("No data", **{DETAIL: NO_DATA})


def _named(sent: Columns, name: str) -> dict[ColumnType, pl.Series]:
    named: dict[ColumnType, pl.Series] = {}
    for each, values in sent.items():
        if each.name == name:
            before = named.get(each.type)
            named[each.type] = values if before is None else before.zip_with(before.is_not_null(), values)
    return named


def _require_fields(sent: Columns) -> None:
    for values in _named(sent, _FIELDS).values():
        index = values.is_not_null().arg_max()
        raise InvalidEvent("`fields` is not an object", index=index, **{DETAIL: INVALID_FIELDS})


def _require_events(sent: Columns, height: int) -> None:
    """Every envelope needs an event, and that of text needs a character."""
    has_event = pl.Series([False], dtype=pl.Boolean()).new_from_index(0, height)
    for each, values in sent.items():
        if each == Field(_EVENT, ColumnType.UTF8) and (values == "").any():
            raise InvalidEvent(
                "Event field cannot be blank", index=(values == "").fill_null(False).arg_max(), **{DETAIL: BLANK_EVENT}
            )
        if each.name == _EVENT or each.name.startswith(f"{_EVENT}_"):
            if each.name != _EVENT and values.null_count() == 0:  # most are alike, and all have it
                return
            has_event |= values.is_not_null()
    if not has_event.all():
        raise InvalidEvent("Event field is required", index=(~has_event).arg_max(), **{DETAIL: NO_EVENT})


def _columns(sent: Columns) -> Columns:
    """The columns under their own names: what the event says before what `fields` says. Other members are left out."""
    columns: Columns = {}
    for each, values in sent.items():
        if each.name in ORIGINS:
            columns[each] = values
        elif each.name == _EVENT:
            columns[each._replace(name=MESSAGE)] = values
        elif each.name.startswith(f"{_EVENT}_"):
            columns[each._replace(name=_inner(each.name, _EVENT))] = values
    of_events = dict(columns)
    for each, values in sent.items():
        if each.name.startswith(f"{_FIELDS}_"):
            _add_field(columns, of_events, each, values)
    return columns


def _inner(name: str, level: str) -> str:
    inner = name[len(level) + 1 :]
    return name if inner in _OWN else inner


def _add_field(columns: Columns, of_events: Columns, sent: Field, values: pl.Series) -> None:
    """Where the event has the name already, the field keeps its prefix."""
    name = _inner(sent.name, _FIELDS)
    taken = pl.Series([False], dtype=pl.Boolean()).new_from_index(0, len(values))
    for each, others in of_events.items():
        if each.name == name:
            taken |= others.is_not_null()
    nulls = values.clear(len(values))
    free = values.zip_with(~taken, nulls)
    field = sent._replace(name=name)
    before = columns.get(field)
    if free.null_count() < len(free):
        columns[field] = free if before is None else before.zip_with(before.is_not_null(), free)
    if (taken & values.is_not_null()).any():
        columns[sent] = values.zip_with(taken, nulls)


def _divided(columns: Columns, height: int, request: Request) -> Divided:
    for name, text in request.origins.items():
        kept = columns.get(Field(name, ColumnType.UTF8))
        given = pl.Series([text]).new_from_index(0, height)
        columns[Field(name, ColumnType.UTF8)] = given if kept is None else kept.fill_null(text)
    if request.dataset is not None:
        return Divided(EMPTY, parts=(Part(request.dataset, _batch(columns, height)),))
    origins = _dataset_origins(columns, height)
    known = {text: dataset_named(text) for text in origins.unique(maintain_order=True)}
    datasets = require_few(list(dict.fromkeys(known.values())))
    if len(datasets) == 1:
        return Divided(EMPTY, parts=(Part(datasets[0], _batch(columns, height)),))
    names = origins.replace_strict(known)
    return Divided(EMPTY, parts=tuple(Part(dataset, _part(columns, names == dataset)) for dataset in datasets))


def _dataset_origins(columns: Columns, height: int) -> pl.Series:
    """What names the dataset of each row: its `index`, else its `source`."""
    named = pl.Series([None], dtype=pl.String()).new_from_index(0, height)
    for name in ("index", "source"):
        values = columns.get(Field(name, ColumnType.UTF8))
        if values is not None:
            named = named.zip_with(named.is_not_null(), values.replace("", None))
    if named.null_count():
        message = "neither X-P-Stream nor `index` nor `source` names the dataset"
        raise InvalidEvent(message, index=named.is_null().arg_max(), **{DETAIL: INCORRECT_INDEX})
    return named


def _part(columns: Columns, mask: pl.Series) -> Batch:
    return _batch({each: values.filter(mask) for each, values in columns.items()}, int(mask.sum()))


def _batch(columns: Columns, height: int) -> Batch:
    kept = {each: values.alias(each.name) for each, values in columns.items() if values.null_count() < height}
    return Batch(tuple(kept), tuple(kept.values()), height)
