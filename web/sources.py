"""What a caller may read: the datasets of a statement as sources of a query."""

from collections.abc import Mapping
from dataclasses import dataclass

from auth.identity import Identity
from auth.privileges import Action, require, row_predicates
from errors import InvalidRequest
from query.process.messages import Source
from query.timerange import TimeRange
from storage.read.snapshot import take_snapshot
from storage.write.engine import Storage


@dataclass(frozen=True, slots=True)
class Sources:
    """What a caller may read of the datasets of a statement. `named` is the request's `streamName`."""

    storage: Storage
    identity: Identity
    range: TimeRange
    named: str | None

    def resolve(self, datasets: tuple[str, ...], columns: tuple[str, ...]) -> Mapping[str, Source]:
        """A source for every dataset of the statement, with the statistics of `columns`.

        Privileges come before any look-up: a dataset that the caller may not read is refused in the same way, and
        after the same work, whether it exists or not. Raises Forbidden, DatasetNotFound, InvalidRequest.
        """
        named = (self.named,) if self.named is not None else ()
        for name in (*named, *datasets):
            require(self.identity, Action.QUERY, name)
        for name in named:
            self.storage.find(self.identity.tenant, name)
            if datasets and name not in datasets:
                raise InvalidRequest(f"streamName is {name!r}, which the query does not read", field="streamName")
        return {name: self._source(name, columns) for name in datasets}

    def _source(self, name: str, columns: tuple[str, ...]) -> Source:
        dataset = self.storage.find(self.identity.tenant, name)
        tags = row_predicates(self.identity, name)
        start, end = (None, None) if dataset.is_lookup else (self.range.start_ns, self.range.end_ns)
        if tags is None:
            return Source(take_snapshot(self.storage.layout, dataset, start, end, columns), start, end)
        only = frozenset((tag.field, tag.value) for tag in tags)
        return Source(take_snapshot(self.storage.layout, dataset, columns=columns), start, end, only)
