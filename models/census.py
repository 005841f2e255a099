"""How big every dataset is, in one look at the manifest."""

from dataclasses import dataclass

from models.base import connection, database


@dataclass(frozen=True, slots=True)
class Size:
    """What a dataset has in live Parquet files."""

    tenant: str
    dataset: str
    files: int
    rows: int
    bytes: int


def largest(most: int) -> list[Size]:
    """The datasets by their bytes on disk, at most so many."""
    with connection():
        rows = database.execute_sql(
            "SELECT dataset.tenant, dataset.name, count(file.path), coalesce(sum(file.rows), 0)::bigint,"
            " coalesce(sum(file.bytes), 0)::bigint AS bytes"
            " FROM dataset LEFT JOIN file ON file.dataset_id = dataset.id AND file.removed_at IS NULL"
            " GROUP BY dataset.id ORDER BY bytes DESC, dataset.id LIMIT %s",
            (most,),
        )
        return [Size(*row) for row in rows.fetchall()]
