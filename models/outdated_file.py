"""Live files that may have columns in another form or a narrower type than today's, and how long they have been so."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Final

from models.base import connection, database
from models.file import PLAIN_NAMES, File

# A file of before the form was kept, or whose writer did not know yet that a column had widened.
OUTDATED: Final = (
    "SELECT path FROM file WHERE removed_at IS NULL AND format = 0"
    " UNION SELECT path FROM (SELECT dataset_id, max(widened) AS latest FROM dataset_column WHERE widened > 0"
    " GROUP BY dataset_id) AS changed JOIN file USING (dataset_id) WHERE removed_at IS NULL AND widened < latest"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many files are outdated, and for how long a dataset that has one has had a widened column (0: none has)."""

    files: int
    seconds: float


def find(most: int) -> list[File]:
    """At most so many of them, newest first, with all statistics."""
    with connection():
        rows = database.execute_sql(
            f"SELECT {PLAIN_NAMES}, stats FROM file WHERE path IN ({OUTDATED}) ORDER BY tmin DESC, path LIMIT %s",
            (most,),
        )
        return [replaced(File(*row[:-1]), stats=row[-1]) for row in rows.fetchall()]


def accept(files: Sequence[File], form: int, widened: int) -> None:
    """They have been looked at, and are as today's files are."""
    with connection():
        database.execute_sql(
            "UPDATE file SET format = %s, widened = %s WHERE path = ANY(%s)",
            (form, widened, [each.path for each in files]),
        )


def waiting() -> Waiting:
    """The files that maintenance has not looked at or rewritten yet."""
    with connection():
        files, seconds = database.execute_sql(
            "SELECT count(*), extract(epoch FROM now() - min(widened_at)) FROM file"
            f" JOIN dataset ON dataset.id = dataset_id WHERE path IN ({OUTDATED})"
        ).fetchone()
        return Waiting(files, float(seconds or 0))
