"""What senders say of the metrics of a dataset: type, help and unit. Of each metric the latest counts."""

from collections.abc import Mapping
from typing import Final

from metric_columns import MetricMetadata
from models.base import connection, database

# Names of metrics are few; more are somebody's mistake, whose samples are stored, but not what he says of them.
MOST_METRICS: Final = 100_000
# A metric name that is longer than an index entry may be gets no row, and a help text is cut.
LONGEST_NAME: Final = 500
LONGEST_TEXT: Final = 4_096


def record(dataset_id: int, said: Mapping[str, MetricMetadata]) -> None:
    """From now on this counts. A dataset that is gone gets none."""
    rows = [
        (name, each.type, _storable(each.help), _storable(each.unit))
        for name, each in sorted(said.items())
        if len(name) <= LONGEST_NAME and "\0" not in name
    ]
    if not rows:
        return
    with connection():
        database.execute_sql(
            "INSERT INTO metric_metadata (dataset_id, metric, type, help, unit)"
            " SELECT dataset.id, said.* FROM dataset,"
            " unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS said (metric, type, help, unit)"
            " WHERE dataset.id = %s"
            " AND (SELECT count(*) FROM metric_metadata WHERE dataset_id = dataset.id) + %s <= %s"
            " ON CONFLICT (dataset_id, metric) DO UPDATE SET type = excluded.type, help = excluded.help,"
            " unit = excluded.unit",
            (*map(list, zip(*rows, strict=True)), dataset_id, len(rows), MOST_METRICS),
        )


def find(dataset_id: int, metric: str | None = None, most: int | None = None) -> dict[str, MetricMetadata]:
    """What was said of the metric, or of all, by name; at most so many."""
    with connection():
        rows = database.execute_sql(
            "SELECT metric, type, help, unit FROM metric_metadata"
            " WHERE dataset_id = %s AND (%s::text IS NULL OR metric = %s) ORDER BY metric LIMIT %s",
            (dataset_id, metric, metric, most),
        )
        return {name: MetricMetadata(*values) for name, *values in rows.fetchall()}


def _storable(text: str) -> str:
    """PostgreSQL's text has no NUL character."""
    return text[:LONGEST_TEXT].replace("\0", "")
