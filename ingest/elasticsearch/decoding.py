"""The door: from a decompressed bulk body to the rows of each dataset, and what is wrong with single items.

Documents are read as bodies of one event each, together and so at the speed of any JSON events. Only where that fails
is each looked at by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from columns import Batch
from errors import InvalidBody, InvalidEvent, InvalidRequest, WeirError
from ingest.batch_builder import MAX_COLUMNS, BatchBuilder, fault_of_name
from ingest.column_values import NestedTooDeep, classify
from ingest.dataset_naming import require_few
from ingest.decoded import EMPTY, Divided, NotTogether, Part
from ingest.elasticsearch.bulk import CREATES, Action, Items, items
from ingest.flatten import Rules, flatten
from ingest.json import batch_decoding, decoding
from ingest.json.exact import loads
from ingest.json.fast_path import shapes

_REFUSED: Final = "refused_item"
NO_ITEMS: Final = Items((), (), frozenset())


class Fault(InvalidRequest):
    """Why an item is not stored, by Elasticsearch's word for it."""

    code = "invalid_item"


@dataclass(frozen=True, slots=True)
class DecodedBulk(Divided):
    """`items` in their order, and by their number what is wrong with one. `dataset` takes all, if one is named."""

    items: Items = NO_ITEMS
    faults: dict[int, WeirError] | None = None
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What a request says beside its body: the dataset of all items, and the index of those that name none."""

    dataset: str | None
    index: str | None


def cost(body: bytes, media_type: str, limit: int) -> int:
    """Bytes of memory that the items of the body take."""
    return 400 * body.count(b"\n")


def decode(body: bytes, media_type: str, max_columns: int = MAX_COLUMNS, *, target: Target) -> DecodedBulk:
    """The documents of `index` and `create`, one row each, by dataset; and what is wrong with the other items.

    Raises InvalidBody for what is no bulk body, InvalidRequest for too many datasets, and TooLarge.
    """
    found = items(body, target.index)
    if not found.actions:
        raise InvalidBody("request body is required")
    faults: dict[int, WeirError] = {}
    by_dataset = _by_dataset(found, target, faults)
    require_few(list(by_dataset))
    parts = [Part(name, _batch(found, numbers, faults, max_columns)) for name, numbers in by_dataset.items()]
    kept = tuple(part for part in parts if part.batch.height)
    reasons = {_REFUSED: len(faults)} if faults else {}
    return DecodedBulk(EMPTY, reasons, parts=kept, items=found, faults=faults, dataset=target.dataset)


def _by_dataset(found: Items, target: Target, faults: dict[int, WeirError]) -> dict[str, Sequence[int]]:
    """The numbers of the items that go to each dataset; those that go nowhere are added to the faults."""
    datasets = {target.dataset or action.dataset for action in found.kinds}
    if len(datasets) == 1 and not any(_fault_of(action, target) for action in found.kinds):
        return dict.fromkeys(datasets, range(len(found.actions)))
    by_dataset: dict[str, list[int]] = {}
    for number, action in enumerate(found.actions):
        fault = _fault_of(action, target)
        if fault is not None:
            faults[number] = fault
        else:
            by_dataset.setdefault(target.dataset or action.dataset, []).append(number)
    return dict(by_dataset)


def _fault_of(action: Action, target: Target) -> WeirError | None:
    if action.name not in CREATES:
        return Fault(f"[{action.name}] is not supported: events are stored, never changed")
    if not (target.dataset or action.index_name):
        return Fault("index is missing")
    return None


def _batch(found: Items, numbers: Sequence[int], faults: dict[int, WeirError], max_columns: int) -> Batch:
    """The rows of these items, but of those that are none: they are added to the faults."""
    documents = [document.strip() for document in map(found.documents.__getitem__, numbers)]
    if {document[:1] for document in documents} != {b"{"}:  # an array would be read as the events in it
        return _one_by_one(found, numbers, faults, max_columns)
    alike = shapes(Rules(max_columns=max_columns, reserved=decoding.RESERVED)).read_parts(documents)
    if alike is not None and set(alike[1]) == {1}:
        return alike[0]
    try:
        batch, counts = batch_decoding.decode(documents, max_columns)
        if set(counts) == {1}:
            return batch
    except (WeirError, NotTogether):
        pass
    return _one_by_one(found, numbers, faults, max_columns)


def _one_by_one(found: Items, numbers: Sequence[int], faults: dict[int, WeirError], max_columns: int) -> Batch:
    usable = []
    for number in numbers:
        try:
            _require_event(found.documents[number], max_columns)
            usable.append(number)
        except WeirError as error:
            faults[number] = error
    builder = BatchBuilder(max_columns=max_columns)
    try:
        if usable:
            lines = b"\n".join(map(found.documents.__getitem__, usable))
            builder.append(decoding.decode(lines, max_columns=max_columns))
        batch = builder.finish()
    except WeirError as error:  # of all of them together: too many different fields
        faults.update(dict.fromkeys(usable, error))
        return EMPTY
    if batch.height != len(usable):
        raise InvalidBody("a line of the body holds several documents")
    return batch


def _require_event(document: bytes, max_columns: int) -> None:
    """Raises what decoding the document alone would raise."""
    event: Any = loads(document) if document.strip() else None
    decoding.require_objects([event], 0)
    rules = Rules(max_columns=max_columns, reserved=decoding.RESERVED)
    for column in flatten([event], rules):
        fault = fault_of_name(column.name)
        if fault is not None:
            raise InvalidEvent(f"the name of a field {fault}", index=0)
        _require_depth(column.values[0])


def _require_depth(value: Any) -> None:
    try:
        if value is not None:
            classify(value)
    except NestedTooDeep as error:
        raise InvalidEvent(f"a document nests deeper than {error} levels", index=0) from error
