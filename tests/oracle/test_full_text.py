"""Full text search against PostgreSQL: random texts and searches."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pytest

from query.pg.bad_values import BadLiteral
from query.pg.full_text import reading, vectors
from query.pg.full_text.notation import as_written
from query.pg.full_text.query_tree import Query, output
from query.pg.full_text.tokens import tokens
from tests.oracle.harness.answer import Answer
from tests.oracle.harness.session import Session

KINDS: Final = (
    *("", "asciiword", "word", "numword", "email", "url", "host", "sfloat", "version", "hword_numpart", "hword_part"),
    *("hword_asciipart", "blank", "tag", "protocol", "numhword", "asciihword", "hword", "url_path", "file", "float"),
    *("int", "uint", "entity"),
)
"""By their number (ts_token_type)."""
WORDS: Final = (
    "a b foo com é 1 23 . . - - / / @ : :// ? ~ .. _ e E5 + & &amp; &#12; < > = \" ' , % # [ ms www org 10".split()
)
TAGS: Final = "< < a script style / > > = \" ' x ! ? D -- - \\ & ; # 1 : _ <script> </script> <!-- --> é .".split()
HOSTS: Final = "a b foo com 1 23 . . . - - / @ @ : ~ _ e + www org ab c1 http: É 5 ://".split()
TEXTS: Final = 4_000
SEARCHES: Final = 1_500
READERS: Final[Mapping[str, Callable[[str], Query | None]]] = {
    "to_tsquery('simple', {})": reading.standard,
    "plainto_tsquery('simple', {})": reading.plain,
    "phraseto_tsquery('simple', {})": reading.phrase,
    "websearch_to_tsquery('simple', {})": reading.web,
    "{}::tsquery": as_written,
}
OPERANDS: Final = ("a", "b", "ab", "c", "foo-bar", "'b c'", "a:*", "ab:*", "x", "a:A", "b:AD", "'.'", "'- -'", "/c/d")
OPERATORS: Final = ("&", "|", "<->", "<->", "<2>", "<0>")
NOISE: Final = tuple("a b ab & | ! <-> ( ) :* :A ' \\ - \" or OR . < _".split()) + (" ",) * 6


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def texts(pieces: list[str], seed: int) -> list[str]:
    chance = random.Random(seed)
    letters = [*pieces, " ", " ", "\t", "\n"]
    return ["".join(chance.choices(letters, k=chance.randint(1, 14))) for _ in range(TEXTS)]


@pytest.mark.parametrize("pieces", [WORDS, TAGS, HOSTS], ids=["words", "tags", "hosts"])
def test_texts_are_cut_as_postgresql_cuts_them(session: Session, pieces: list[str]) -> None:
    samples = texts(pieces, seed=1)
    array = ", ".join(map(quoted, samples))
    found = session.reference.run(
        f"SELECT n, (p).tokid, (p).token FROM (SELECT n, ts_parse('default', t) AS p"
        f" FROM unnest(ARRAY[{array}]) WITH ORDINALITY AS x (t, n)) AS y"
    )

    assert isinstance(found, Answer)
    theirs: list[list[tuple[str, str]]] = [[] for _ in samples]
    for number, kind, token in found.rows:
        theirs[int(number) - 1].append((KINDS[int(kind)], token))
    for text, expected in zip(samples, theirs, strict=True):
        assert [(token.kind, text[token.start : token.end]) for token in tokens(text)] == expected, repr(text)


def search(chance: random.Random, depth: int = 0) -> str:
    """A search in the notation of tsquery, most often a valid one."""
    if depth > 3 or chance.random() < 0.35:
        return chance.choice(OPERANDS)
    if chance.random() < 0.15:
        return f"!{search(chance, depth + 1)}"
    left, right = search(chance, depth + 1), search(chance, depth + 1)
    return f"{left} {chance.choice(OPERATORS)} " + (f"({right})" if chance.random() < 0.5 else right)


def asked() -> Iterator[tuple[str, str, str]]:
    """Forms, searches, and texts to look into."""
    chance = random.Random(2)
    words = ("a", "b", "ab", "c", "foo-bar", "abc", "d", "É", "http://a.com/c/d", "x.y", "-", ".")
    for _ in range(SEARCHES):
        text = " ".join(chance.choices(words, k=chance.randint(0, 7)))
        noise = "".join(chance.choices(NOISE, k=chance.randint(0, 9)))
        yield chance.choice(list(READERS)), noise if chance.random() < 0.4 else search(chance), text


def test_searches_find_what_postgresql_finds(session: Session) -> None:
    """Api.md section 5: PostgreSQL's answer or a refusal. The form of the search, whether it matches, the vector."""
    answered = 0
    for form, sought, text in asked():
        query, vector = form.format(quoted(sought)), f"to_tsvector('simple', {quoted(text)})"
        theirs = session.reference.run(f"SELECT ({query})::text, {vector} @@ {query}, {vector}::text")
        assert ours(form, sought, text) == (theirs.rows[0] if isinstance(theirs, Answer) else theirs.sqlstate), query
        answered += isinstance(theirs, Answer)
    assert answered > SEARCHES / 2


def ours(form: str, sought: str, text: str) -> tuple[str, str, str] | str:
    """The same by our own parts; the SQLSTATE of an error."""
    try:
        tree, found = READERS[form](sought), vectors.vector(text)
    except BadLiteral as error:
        return error.sqlstate
    assert vectors.read(vectors.output(found)) == found
    return output(tree), "t" if vectors.matches(tree, found) else "f", vectors.output(found)
