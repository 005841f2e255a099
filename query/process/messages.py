"""The requests to a query process: first parse a statement, then execute it over sources, or both at once."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from query.parameters import Parameter, RandomState
from query.results.options import Options
from storage.read.contents import Column, Snapshot

Tags = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Parse:
    """Parse the statement and keep it.

    The answer: `{"datasets": [names], "columns": [names], "catalog": [names], "explain": false}`, the columns being
    those that conditions are about, the catalog the relations of information_schema that it reads.
    """

    sql: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Source:
    """One dataset of the statement. Of its rows those with one of the `permitted_tags` may be read; None: all.

    `snapshot` covers the query's time range. Under row-level security it covers all time, because the visible columns
    follow from it, and `start_ns`, `end_ns` are the range to read. `needs_range`: the statement's own conditions have
    to say from when on.
    """

    snapshot: Snapshot
    start_ns: int | None
    end_ns: int | None
    permitted_tags: Tags | None = None
    needs_range: bool = False

    def __reduce__(self) -> tuple[Callable[[bytes], "Source"], tuple[bytes]]:
        return _unpickle, (self._pickled,)

    @cached_property
    def _pickled(self) -> bytes:
        members = self.snapshot, self.start_ns, self.end_ns, self.permitted_tags, self.needs_range
        return pickle.dumps(members, pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=8)
def _unpickle(pickled: bytes) -> Source:
    """The same object for the same source: a group of alerts sends it with each of its queries."""
    return Source(*pickle.loads(pickled))


@dataclass(frozen=True, slots=True)
class Look:
    """Which columns, as stored, does the reader of this source see? The answer: `{"visible": [names]}`, or
    `{"expired": true}` when something of its snapshot is gone."""

    source: Source


@dataclass(frozen=True, slots=True)
class Listed:
    """A dataset as information_schema lists it, for whoever asks. `narrowed`: of its columns only those are theirs that
    a row of this source has."""

    name: str
    columns: tuple[Column, ...]
    narrowed: Source | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """Where a statement may run: on the cluster at `url`, if there is one, when it has more than `bytes` to read, or
    where it was `asked` to, `local` or `spark`. The cluster has `timeout_seconds` for each part of it."""

    url: str | None = None
    bytes: int = 0
    timeout_seconds: float = 0.0
    asked: str | None = None


LOCAL: Final = Route()


@dataclass(frozen=True, slots=True)
class Execute:
    """Run the parsed statement over `sources`, by dataset name, and over `listed` if it reads the catalog. `zone`: the
    time zone of instants that meet a wall clock. `random`: where the session's random numbers go on, if it set a seed.

    A note `{"files": 3, "bytes": 1024}` of what will be read, data, then
    `{"expired": false, "coding": "gzip", "repeatable": true}`.

    The note of a result whose format does not name its columns has `fields` and `parameters`
    (query/process/description.py), and the answer of one whose format is made of rows has their number, `rows`.

    `random` in the answer is where those of the session's next statement go on.

    The coding is identity after all when the data is tiny. Repeatable: the statement asks for neither time nor chance,
    so over the same rows it gives the same. Expired: something of a snapshot is gone; nothing of the data counts, and
    new snapshots are needed.
    """

    sources: Mapping[str, Source]
    now_ns: int
    options: Options
    coding: str
    largest_result_bytes: int
    listed: tuple[Listed, ...] = ()
    route: Route = LOCAL
    zone: str = ""
    random: RandomState | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """What a statement names: datasets, and the columns that its conditions are about."""

    datasets: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """Compute what these statements aggregate of all rows of `source`, the dataset `name`, in one scan.

    The next requests over the very same source take it from there. The answer: `{"shared": 3}`, so many of the
    statements, or `{"expired": true}` when something of the snapshot is gone.
    """

    statements: tuple[Parse, ...]
    name: str
    source: Source
    now_ns: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Parse the statement and, if it names just what was expected and nothing of the catalog, execute it.

    The answer is that of `Execute`; if it names something else, that of `Parse`, and nothing was executed. Statements
    come in few shapes, so nearly always this spares a message and the answer to it.
    """

    parse: Parse
    expected: Names
    execute: Execute
