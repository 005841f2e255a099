"""The counters and histograms of one worker: what is counted, and by which labels."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

M = TypeVar("M", Counter, Histogram)
Count = Callable[[float], None]

# Each dataset has series in every worker's file; those beyond this number are counted together.
MOST_DATASETS: Final = 500
OTHER: Final = "other"
REQUEST_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
COMMIT_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
QUERY_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0)


class Meters:
    """What the parts of a worker report to. For its greenlets: real threads hand their numbers to one.

    Every label has few values: routes come from the URL map, codes from errors.py, datasets are limited here.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._children: dict[tuple[object, ...], Any] = {}
        # What every request counts: two series at once, found by their labels.
        self._answered: dict[tuple[str, str, int], tuple[Count, Count]] = {}
        self._ingested: dict[tuple[str, str], tuple[Count, Count]] = {}
        self._requests = self._counter("requests", "Requests answered.", "method", "route", "status")
        self._refusals = self._counter("refusals", "Requests refused, by the error's code.", "code")
        self._events = self._counter("ingested_events", "Events stored durably.", "tenant", "dataset")
        self._bytes = self._counter(
            "ingested_bytes", "Decompressed bodies whose events were stored.", "tenant", "dataset"
        )
        self._rejected = self._counter(
            "rejected_events", "Events left out of requests whose other events were stored.", "protocol", "reason"
        )
        self._committed = self._counter("committed_requests", "Requests made durable by group commits.")
        self._pg = self._counter("pg_connections", "Connections of clients of PostgreSQL, by what happened.", "event")
        self._own = self._counter("self_events", "Weir's own log lines and numbers, by what became of them.", "outcome")
        self._tails_opened = self._counter(
            "tails_opened", "Live tails begun; less those closed, the ones that are open."
        )
        self._tails_closed = self._counter("tails_closed", "Live tails over, whoever ended them.")
        self._tail_ends = self._counter("tail_ends", "Live tails that the service ended, by the error's code.", "code")
        self._tail_bytes = self._counter("tail_bytes", "Bytes that clients of live tails have taken.")
        self._answer = self._histogram(
            "request_duration_seconds",
            "From the head of a request to the head of its answer.",
            REQUEST_SECONDS,
            "route",
        )
        self._commit = self._histogram("commit_duration_seconds", "Group commits: written and synced.", COMMIT_SECONDS)
        self._sync = self._histogram("sync_duration_seconds", "fdatasync of a segment.", COMMIT_SECONDS)
        self._wait = self._histogram(
            "query_wait_seconds", "Queries in the line for a slot, to their turn or their giving up.", QUERY_SECONDS
        )
        self._query = self._histogram(
            "query_duration_seconds", "Queries, until the first mebibyte of the result is there.", QUERY_SECONDS
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        labels = (method, route, status)
        if labels not in self._answered:
            self._answered[labels] = (self._requests.labels(*labels).inc, self._answer.labels(route).observe)
        count, observe = self._answered[labels]
        count(1)
        observe(seconds)

    def refused(self, code: str) -> None:
        """A request was refused with this code of errors.py."""
        self._of(self._refusals, code).inc()

    def ingested(self, tenant: str, dataset: str, events: int, body_bytes: int) -> None:
        """Events are on stable storage."""
        count_events, count_bytes = self._ingested.get((tenant, dataset)) or self._of_dataset(tenant, dataset)
        count_events(events)
        count_bytes(body_bytes)

    def rejected(self, protocol: str, reasons: Mapping[str, int]) -> None:
        """Events of a request were left out, so many for each of these reasons, and the rest was stored."""
        for reason, events in reasons.items():
            self._of(self._rejected, protocol, reason).inc(events)

    def committed(self, requests: int, seconds: float, sync_seconds: float) -> None:
        """A group commit succeeded."""
        self._committed.inc(requests)
        self._commit.observe(seconds)
        self._sync.observe(sync_seconds)

    def waited(self, seconds: float) -> None:
        """A query waited so long for its turn, whether or not it got it."""
        self._wait.observe(seconds)

    def queried(self, seconds: float) -> None:
        """A query has its result, or the beginning of a long one."""
        self._query.observe(seconds)

    def pg_connection(self, event: str) -> None:
        """A connection of a client of PostgreSQL was `opened`, `closed`, `refused` (its login) or `full` (a limit)."""
        self._of(self._pg, event).inc()

    def tail_opened(self) -> None:
        """A live tail is open."""
        self._tails_opened.inc()

    def tail_closed(self) -> None:
        """A live tail that was open is not any more."""
        self._tails_closed.inc()

    def tail_ended(self, code: str) -> None:
        """A live tail was ended by us, with this code of errors.py."""
        self._of(self._tail_ends, code).inc()

    def tail_sent(self, size: int) -> None:
        """A live tail's client has taken so many bytes."""
        self._tail_bytes.inc(size)

    def observed(self, outcome: str, events: int) -> None:
        """So many of Weir's own events were `stored` or `dropped`."""
        self._of(self._own, outcome).inc(events)

    def _of(self, meter: M, *labels: str | int) -> M:
        """The series of these labels. Kept, since prometheus_client checks and joins them each time it is asked."""
        key = (meter, *labels)
        child: M | None = self._children.get(key)
        if child is None:
            child = self._children[key] = meter.labels(*labels)
        return child

    def _of_dataset(self, tenant: str, dataset: str) -> tuple[Count, Count]:
        labels = (tenant, dataset) if len(self._ingested) < MOST_DATASETS else (OTHER, OTHER)
        if labels not in self._ingested:
            self._ingested[labels] = (self._events.labels(*labels).inc, self._bytes.labels(*labels).inc)
        return self._ingested[labels]

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"weir_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"weir_{name}", meaning, labels, registry=self.registry, buckets=buckets)
