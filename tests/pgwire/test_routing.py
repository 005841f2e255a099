"""Where statements go, decided by PostgreSQL's own syntax trees: none over datasets ever asks the catalogue."""

import pytest

from pgwire.errors import PgError
from pgwire.routing import is_catalogue
from pgwire.syntax_tree import NotParsed, names, split


def goes_to_catalogue(sql: str) -> bool:
    statement = split(sql)[0]
    return is_catalogue(names({statement.kind: statement.node}))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT relname FROM pg_catalog.pg_class",
        "SELECT relname FROM pg_class",
        "SELECT table_name FROM information_schema.tables",
        "SELECT version()",
        "SELECT current_user",
        "SELECT 'app'::regclass",
        "WITH c AS (SELECT oid FROM pg_class) SELECT * FROM c",
        "SELECT pg_catalog.lower('A')",
        "SELECT current_setting('search_path')",
    ],
)
def test_questions_about_the_catalogue(sql: str):
    assert goes_to_catalogue(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT now()",
        "SELECT * FROM app",
        "SELECT * FROM public.app",
        "SELECT * FROM weir.public.app",
        "SELECT * FROM app JOIN information_schema.columns ON true",
        "SELECT * FROM generate_series(1, 3)",
        "SELECT pg_sleep(1)",
        # The name of the inner WITH is a dataset's outside of it.
        "SELECT * FROM app WHERE id IN (WITH app AS (SELECT oid FROM pg_type_of) SELECT oid FROM app)".replace(
            "pg_type_of", "other"
        ),
        "WITH app AS (SELECT 1) SELECT * FROM app, public.app",
        "SELECT (SELECT count(*) FROM app)",
        "SELECT lower(level) FROM app ORDER BY (SELECT max(took) FROM app)",
    ],
)
def test_statements_over_datasets(sql: str):
    assert not goes_to_catalogue(sql)


def test_a_dataset_that_a_nested_with_hides_elsewhere_is_seen():
    """Else the statement would be answered by the empty table of that name."""
    hidden = "SELECT * FROM app WHERE took IN (WITH app AS (SELECT 1 AS oid) SELECT oid FROM app)"

    assert names(split(hidden)[0].node).relations == {(None, "app")}
    assert not goes_to_catalogue(hidden)


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT * FROM app, pg_class", "0A000"),
        ("SELECT * FROM app WHERE 'app' IN (SELECT relname FROM pg_catalog.pg_class)", "0A000"),
        ("SELECT pg_sleep(1) FROM pg_class", "0A000"),
        ("SELECT pg_read_file('/etc/passwd'), version()", "0A000"),
        ("SELECT query_to_xml('SELECT 1', true, true, '') FROM pg_class", "0A000"),
        ("SELECT pg_terminate_backend(1), version()", "0A000"),
        ("SELECT lo_import('/etc/passwd'), version()", "0A000"),
        ("SELECT dblink('x'), version()", "0A000"),
        ("SELECT * FROM pg_catalog.pg_authid", "0A000"),
        ("SELECT * FROM pg_stat_activity", "0A000"),
        ("SELECT * FROM pg_hba_file_rules", "0A000"),
        ("SELECT * FROM pg_catalog.weir_content", "0A000"),
        ("SELECT other.version(), version()", "0A000"),
        ("SELECT 1 INTO t", "25006"),
        ("SELECT * FROM app FOR UPDATE", "25006"),
        ("WITH x AS (DELETE FROM app RETURNING 1) SELECT * FROM x", "25006"),
    ],
)
def test_what_may_not_be_asked_is_refused(sql: str, sqlstate: str):
    with pytest.raises(PgError) as caught:
        goes_to_catalogue(sql)

    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
        "SELECT 1" + "+1" * 40_000,
        "SELECT " + "NOT " * 20_000 + "true",
        "SELECT " + "CASE WHEN true THEN " * 3_000 + "1" + " END" * 3_000,
        "SELECT '",
        "SELECT 1" * 50_000,
    ],
    ids=["brackets", "sum", "not", "case", "quote", "long"],
)
def test_hostile_texts_end_as_not_parsed(sql: str):
    with pytest.raises(NotParsed):
        split(sql)


def test_statements_of_a_text_know_their_places():
    found = split("SELECT 'ä';  SELECT 2 ; ")

    assert [(each.sql, each.start) for each in found] == [("SELECT 'ä'", 0), ("SELECT 2", 13)]
