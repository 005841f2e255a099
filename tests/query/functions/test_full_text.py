"""A search decides by letters what it would by tokens. That tokens are PostgreSQL's is for tests/oracle to say."""

import random

import polars as pl

from query.expr.call_context import CallContext
from query.functions.full_text import _tree, has_lexemes
from query.pg.full_text import vectors
from query.pg.types import BOOL, TEXT, TSQUERY

WORDS = (
    *("slow", "Slow", "SLOW", "ſlow", "slow.", "slow:", "(slow", "slow)", "slow-ish", "x/slow", "slow/x", "slow@a.com"),
    *(
        "<slow",
        "slow>",
        "<b slow>",
        "slower",
        "slow1",
        "1slow",
        "été",
        "slowé",
        "http://a.com/slow",
        "http://a.com/(slow",
    ),
    *(
        "İd",
        "id",
        "ID",
        "Id:",
        "K",
        "k",
        "\u212a",
        "kelvin",
        "",
        "  ",
        "\tid\n",
        "'slow'",
        '"slow"',
        "slow://",
        "a.slow",
    ),
)
SEARCHES = (
    *("slow", "!slow", "slow & id", "slow | id", "slow & !id", "!(slow | id)", "slow <-> id", "slow <-> !id", "slo:*"),
    *("k", "id", "!k", "été", "a.com", "slow:A", "slow:D", "/slow | kelvin"),
)


def test_letters_decide_as_tokens_do() -> None:
    chance = random.Random(3)
    texts = [None, *(" ".join(chance.choices(WORDS, k=chance.randint(0, 4))) for _ in range(3_000))]
    frame, context = pl.DataFrame({"text": texts}), CallContext((TEXT, TSQUERY), BOOL)

    for search in SEARCHES:
        found = frame.select(has_lexemes(context, pl.col("text"), search)).to_series().to_list()
        expected = [None if text is None else vectors.matches(_tree(search), vectors.vector(text)) for text in texts]
        assert found == expected, search
