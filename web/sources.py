"""What a caller may read: the datasets of a statement as sources of a query."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from auth.identity import Identity
from auth.privileges import Action, may, require, row_predicates
from errors import DatasetNotFound, Forbidden, InvalidRequest
from models import column, dataset
from models.column import Schema
from models.dataset import Dataset
from query.fault import nearest
from query.process.messages import Listed, Source, Tags
from query.timerange import TimeRange
from storage.context import Layout
from storage.read.snapshot import take_snapshot
from storage.write.engine import Storage


@dataclass(frozen=True, slots=True)
class Sources:
    """What a caller may read of the datasets of a statement. `named` is the request's `streamName`.

    `needs_range`: the statement itself has to say from when on it wants rows.
    `names_gaps`: the answer tells which hosts could not be asked; otherwise there is none without them.
    """

    storage: Storage
    identity: Identity
    range: TimeRange
    named: str | None
    names_gaps: bool = False
    needs_range: bool = False

    def resolve(self, datasets: tuple[str, ...], columns: tuple[str, ...]) -> Mapping[str, Source]:
        """A source for every dataset of the statement, with the statistics of `columns`.

        Privileges come before any look-up: a dataset that the caller may not read is refused in the same way, and
        after the same work, whether it exists or not. Raises Forbidden, DatasetNotFound, InvalidRequest.
        """
        named = (self.named,) if self.named is not None else ()
        for name in (*named, *datasets):
            self._require(name)
        for name in named:
            self._find(name)
            if datasets and name not in datasets:
                raise InvalidRequest(f"streamName is {name!r}, which the query does not read", field="streamName")
        return {name: self._source(name, columns) for name in datasets}

    @property
    def _layout(self) -> Layout:
        return replace(self.storage.layout, names_gaps=True) if self.names_gaps else self.storage.layout

    def followed(self, name: str) -> tuple[Dataset, Tags | None]:
        """The dataset of a live tail, and of its rows the tags of those that the caller may see; None: all.

        Raises Forbidden, DatasetNotFound, in that order, as `resolve`.
        """
        self._require(name)
        return self._find(name), self._only(name)

    def listed(self, relations: tuple[str, ...]) -> tuple[Listed, ...]:
        """The datasets that the caller may query, for information_schema; their columns only if those are read."""
        if "information_schema.columns" not in relations:
            return tuple(Listed(each.name, ()) for each in self._visible())
        visible, schemas = self._visible(), column.schemas(self.identity.tenant)
        return tuple(self._listed(each, schemas) for each in visible)

    def _listed(self, found: Dataset, schemas: Mapping[int, Schema]) -> Listed:
        only = self._only(found.name)
        if only is None:
            return Listed(found.name, schemas[found.id].columns if found.id in schemas else ())
        snapshot = take_snapshot(self._layout, found)
        return Listed(found.name, snapshot.schema.columns, Source(snapshot, None, None, only))

    def _visible(self) -> list[Dataset]:
        found = dataset.find_all(self.identity.tenant)
        return [each for each in found if may(self.identity, Action.QUERY, each.name)]

    def _source(self, name: str, columns: tuple[str, ...]) -> Source:
        found = self._find(name)
        only = self._only(name)
        start, end = (None, None) if found.is_lookup else (self.range.start_ns, self.range.end_ns)
        needs_range = self.needs_range and not found.is_lookup
        # Row-level security needs all of the dataset (query/process/messages.py).
        read = (start, end) if only is None else (None, None)
        return Source(take_snapshot(self._layout, found, *read, columns), start, end, only, needs_range)

    def _only(self, name: str) -> Tags | None:
        """The tags of which a row must bear one to be the caller's; None: every row is."""
        tags = row_predicates(self.identity, name)
        return None if tags is None else frozenset((tag.field, tag.value) for tag in tags)

    def _require(self, name: str) -> None:
        try:
            require(self.identity, Action.QUERY, name)
        except Forbidden as error:
            raise Forbidden(error.message, **{**error.details, "hint": self._meant(name)}) from error

    def _find(self, name: str) -> Dataset:
        try:
            return self.storage.find(self.identity.tenant, name)
        except DatasetNotFound as error:
            raise DatasetNotFound(error.message, **{**error.details, "hint": self._meant(name)}) from error

    def _meant(self, name: str) -> str | None:
        """A hint at the dataset that was meant, among those that the caller may query."""
        return nearest("dataset", name, (each.name for each in self._visible() if each.name != name))
