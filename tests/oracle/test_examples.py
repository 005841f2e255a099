"""The examples of docs/sql.md against PostgreSQL: to the letter, as its own text form has them."""

import pytest

from query.reference import Example, examples
from tests.oracle.harness.answer import Answer
from tests.oracle.harness.session import Session

NOT_IN_POSTGRESQL = {"approx_count_distinct(any)"}
EXAMPLES = [each for form, each in examples().items() if form not in NOT_IN_POSTGRESQL]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.form)
def test_postgresql_gives_the_same_answer(session: Session, example: Example) -> None:
    outcome = session.reference.run(example.statement)

    assert isinstance(outcome, Answer), outcome
    assert tuple(map(tuple, outcome.rows)) == example.rows
