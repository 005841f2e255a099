"""The statements of the SQL cookbook and of docs/coming-from.md run as they stand, and answer what the page shows."""

import pytest

from tests import cookbook
from tests.cookbook import Question

QUESTIONS = cookbook.questions()


def test_every_statement_of_the_page_is_tried():
    assert len(QUESTIONS) == cookbook.PAGE.read_text("utf-8").count("```sql\n") == 40


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.title)
def test_answer_is_the_one_that_the_page_shows(question: Question):
    """`python -m tests.cookbook` writes the answers."""
    assert cookbook.answer(question.sql) == question.shown


def test_every_translation_is_tried():
    assert len(cookbook.translations()) == cookbook.TRANSLATIONS.read_text("utf-8").count("`SELECT ") > 30


@pytest.mark.parametrize("sql", cookbook.translations())
def test_translation_has_rows(sql: str):
    """What another product's query is here, over events of which it finds some."""
    assert len(cookbook.answer(sql).splitlines()) > 2
