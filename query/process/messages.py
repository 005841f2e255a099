"""What the service asks of a query process: first to parse, then, with what it may read, to execute."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from query.results.options import Options
from query.syntax.parameters import Parameter
from storage.read.snapshot import Snapshot

Tags = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Parse:
    """Parse the statement and keep it.

    The answer: `{"datasets": [names], "columns": [names], "explain": false}`, the columns being those that conditions
    are about.
    """

    sql: str
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Source:
    """One dataset of the statement. `only`: just the rows that bear one of these tags (field, value); None: all.

    `snapshot` is of the query's time range; of a narrowed source it is of all time, because the columns that may be
    seen follow from it, and `start_ns`, `end_ns` say what is to be read.
    """

    snapshot: Snapshot
    start_ns: int | None
    end_ns: int | None
    only: Tags | None = None

    def __reduce__(self) -> tuple[Callable[[bytes], "Source"], tuple[bytes]]:
        return _unpacked, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps((self.snapshot, self.start_ns, self.end_ns, self.only), pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=8)
def _unpacked(packed: bytes) -> Source:
    """The same object for the same source: whoever asks many questions of it sends it with each of them."""
    return Source(*pickle.loads(packed))


@dataclass(frozen=True, slots=True)
class Execute:
    """Run the parsed statement over `sources`, by dataset name. A note `{"files": 3, "bytes": 1024}` of what will be
    read, data, then `{"expired": false, "coding": "gzip", "repeatable": true}`.

    The coding is identity after all when the data is tiny. Repeatable: the statement asks for neither time nor chance,
    so over the same rows it gives the same. Expired: something of a snapshot is gone; nothing of the data counts, and
    new snapshots are needed.
    """

    sources: Mapping[str, Source]
    now_ns: int
    options: Options
    coding: str
    largest_result_bytes: int
