"""Whether a statement says by itself from when on it wants rows, where the service demands a time range."""

from collections.abc import Mapping, Sequence

from errors import InvalidTimeRange
from query.plan.conditions import Conditions
from query.process.messages import Source

BEGINNINGS = (">", ">=", "=")


def require_ranges(sources: Mapping[str, Source], conditions: Mapping[str, Sequence[Conditions]]) -> None:
    """Every scan of a source that needs one has a lower bound of its time. Raises InvalidTimeRange."""
    for name, source in sources.items():
        if source.needs_range and not all(_has_beginning(each, source) for each in conditions.get(name, ())):
            raise InvalidTimeRange(
                f'the time range of "{name}" is required',
                hint=f"add a condition such as {_time_column(source)} >= now() - interval '1 hour'",
            )


def _has_beginning(conditions: Conditions, source: Source) -> bool:
    return any(
        each.column == source.snapshot.time_column and each.operation in BEGINNINGS and each.value is not None
        for each in conditions
    )


def _time_column(source: Source) -> str:
    """As people call it."""
    snapshot = source.snapshot
    return next((each.name for each in snapshot.schema.columns if each.stored == snapshot.time_column), "its time")
