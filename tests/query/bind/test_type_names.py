"""Type names: PostgreSQL's in casts, other dialects' in TRY_CAST, which PostgreSQL has not (api.md section 5)."""

from datetime import UTC, date, datetime

import pytest

from errors import InvalidSQL
from query.engine import compile

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def test_try_cast_takes_the_names_of_its_dialects() -> None:
    answer = compile(
        "SELECT TRY_CAST('1.5' AS DOUBLE), TRY_CAST('x' AS DOUBLE), TRY_CAST(5 AS STRING), TRY_CAST('?' AS DATETIME)",
        {},
        now=NOW,
    ).collect()

    assert answer.row(0) == (1.5, None, "5", None)


@pytest.mark.parametrize(
    ("name", "hint"), [("double", "double precision"), ("string", "text"), ("datetime", "timestamp")]
)
def test_cast_does_not_but_hints_at_postgresqls_name(name: str, hint: str) -> None:
    with pytest.raises(InvalidSQL) as raised:
        compile(f"SELECT CAST('1' AS {name})", {}, now=NOW)

    assert raised.value.details == {
        "sqlstate": "42704",
        "position": 20,
        "hint": f'Perhaps you meant the type "{hint}".',
    }


def test_name_of_a_type_as_a_function_casts() -> None:
    assert compile("SELECT date('2024-02-29'), int4(5.5)", {}, now=NOW).collect().row(0) == (date(2024, 2, 29), 6)
