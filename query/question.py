"""What is asked of the query service, and how it is listed while it waits or runs."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from errors import DatasetNotFound, Forbidden, InvalidRequest
from query.parameters import Parameter, RandomState
from query.process.slot_table import Query
from query.results.options import Options

# A file goes only after a grace far longer than a query; a segment may go right after it was listed.
MOST_SNAPSHOTS: Final = 5
# What is wrong with a dataset that was only guessed is nobody's error.
NOT_YET_ERRORS: Final = (Forbidden, DatasetNotFound, InvalidRequest)
# The longest statement takes a few seconds to parse on a busy machine, those of people a hundredth.
CHECK_SECONDS: Final = 20.0

IsGone = Callable[[], bool]
"""Whether the client has left."""


@dataclass(frozen=True, slots=True)
class Question:
    """One query as it was asked. `tenant` and `identity` (kind and name) say by whom; `now_ns` is its `now()`.

    `privileged`: it may take the slot that is kept for administrators and alerts. `id_prefix` begins the query's id,
    by which the session that asks can end it. `timeout_seconds`: less time than others have. `engine`: where it has to
    run, `local` or `spark`; None: where it fits. `zone`: the session's time zone by PostgreSQL's name; nothing: UTC.
    `datasets`: what it is about, where its text does not say so, as PromQL does not. `random`: where the session's
    random numbers go on, if it has set a seed.
    """

    tenant: str
    identity: str
    sql: str
    now_ns: int
    parameters: tuple[Parameter, ...] = ()
    options: Options = field(default_factory=Options)
    coding: str = "identity"
    privileged: bool = False
    id_prefix: str = ""
    timeout_seconds: float | None = None
    engine: str | None = None
    zone: str = ""
    datasets: tuple[str, ...] = ()
    random: RandomState | None = None


def query_entry(question: Question) -> Query:
    """The question in the list of running queries, from now on."""
    started_at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    by = question.tenant, question.identity
    query_id = question.id_prefix + uuid.uuid4().hex[len(question.id_prefix) :]
    return Query(query_id, *by, question.sql, started_at, question.privileged)
