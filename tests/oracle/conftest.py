"""One loaded session for all of the oracle's tests, and the list of refusals at the end of the run."""

from collections.abc import Iterator

import pytest

from tests.oracle.harness import corpus
from tests.oracle.harness.session import Session, open_session


@pytest.fixture(scope="session")
def session(postgres: str) -> Iterator[Session]:
    """PostgreSQL and our engine over the same rows."""
    with open_session(postgres) as opened:
        yield opened


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What PostgreSQL answers and we refuse, for the reader of the run."""
    refusals = corpus.read_list(corpus.REFUSALS)
    known_wrong = corpus.read_list(corpus.KNOWN_WRONG)
    terminalreporter.section("SQL oracle")
    terminalreporter.line(f"{len(refusals)} refusals, {len(known_wrong)} known to be wrong")
    for query, reason in refusals.items():
        terminalreporter.line(f"refused  {query}  {reason}")
