"""docs/sql.md: what the engine supports, written from the registry that the compiler uses.

`python -m query.reference` writes the page; a test compares it with the registry. Examples stand in
docs/sql-examples.jsonl with their answers, which tests hold against the engine and PostgreSQL.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import query.bind  # noqa: F401
from query.functions.registry import (
    AGGREGATES,
    SYNTAX,
    WINDOW_FUNCTIONS,
    Aggregate,
    Function,
    WindowFunction,
    by_family,
)

PAGE: Final = Path(__file__).parent.parent / "docs" / "sql.md"
EXAMPLES: Final = PAGE.with_name("sql-examples.jsonl")
_INTRODUCTION: Final = """# SQL

A query is PostgreSQL: same results, types, names, NULL rules, integer division, ordering and errors (SQLSTATE
in `sqlstate`, place in `position`). What is not supported is refused with the code `unsupported_sql` and named;
it is never answered differently. This page is generated from the compiler's own list of functions
(`python -m query.reference`).

## Statements

One `SELECT`, `WITH`, `VALUES`, `TABLE` or set operation, or `EXPLAIN` of one.

- FROM: datasets, subqueries, `JOIN` (inner, left, right, full, cross, `USING`, `NATURAL`), `LATERAL`,
  set-returning functions, `WITH ORDINALITY`, `VALUES`, joins in brackets with an alias.
- `WHERE`, `GROUP BY` (`ROLLUP`, `CUBE`, `GROUPING SETS`, `DISTINCT`), `HAVING`, `DISTINCT`, `DISTINCT ON`,
  `ORDER BY`, `LIMIT`, `OFFSET`, `FETCH FIRST ... ROWS ONLY | WITH TIES`, `UNION`, `INTERSECT`, `EXCEPT`, with or
  without `ALL`.
- `LIMIT` and `OFFSET` take expressions, subqueries and, in LATERAL, columns of the outer query.
- Subqueries as values, in `IN`, `EXISTS`, `ANY`, `ALL`, `ARRAY(...)`, correlated or not. `WITH RECURSIVE` up to
  1,000 rounds.
- `TABLESAMPLE BERNOULLI | SYSTEM (percentage) [REPEATABLE (seed)]`; rows are chosen one by one by either method.
  `jsonb_to_recordset(value) AS x(a int, b text)` and its kin.
- Windows with `ROWS`, `RANGE`, `GROUPS`, `EXCLUDE`, named windows. Aggregates with `DISTINCT`, `ORDER BY`,
  `FILTER`, `WITHIN GROUP`.
- Types: `boolean`, `smallint`, `integer`, `bigint`, `numeric`, `real`, `double precision`, `text`, `varchar(n)`,
  `char(n)`, `bytea`, `date`, `time`, `timestamp`, `timestamptz`, `interval`, `json`, `jsonb`, `uuid`, `inet`, `cidr`
  and arrays. `jsonpath` and `tsquery` as constants. Functions that PostgreSQL implements operators with
  (`jsonb_contains`, `int4eq`) are taken for the operators.
- Extensions: an unquoted name also matches a column case-insensitively when unique; `TRY_CAST`;
  `approx_count_distinct`.

Limits: `numeric` has 38 digits, of a quotient up to 22 after the point: as many as PostgreSQL would have, row by
row. `NaN` and infinity as `numeric` are taken by comparisons, sorting, arithmetic, rounding and texts, and are
errors in sums and means. Arrays begin at 1. Years are 1 to 9999. The time zone is UTC, or the
request's ([time zone](query-api.md#time-zone)).
Text is ordered by code point (`COLLATE "C"`).

## Topics

{topics}

`!` marks an argument that has to be a constant, `...` one that repeats. Every example is run by tests, here and by
PostgreSQL where it has the function; answers are in PostgreSQL's text form, several rows behind each other.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of the page: a construct's form, or those forms of the function `name` that do the same."""

    name: str
    forms: tuple[str, ...]
    results: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Example:
    """An expression or a statement, and the rows of its answer as PostgreSQL's texts."""

    form: str
    sql: str
    rows: tuple[tuple[str | None, ...], ...]

    @property
    def statement(self) -> str:
        return self.sql if self.sql.startswith("SELECT ") else f"SELECT {self.sql}"


def page() -> str:
    """The whole page as Markdown."""
    introduction = _INTRODUCTION.replace("{topics}", _topics())
    lines = (line for title, rows in tables().items() for line in _table(title, rows))
    return "\n".join([introduction, *lines]).rstrip() + "\n"


def tables() -> dict[str, list[Row]]:
    """The rows of each table, by topic."""
    functions = {family: _function_rows(each) for family, each in sorted(_shown().items())}
    return {"Syntax": _syntax(), **functions, "Aggregates": _aggregates(), "Window functions": _windows()}


@cache
def examples() -> Mapping[str, Example]:
    """The examples by the form that each stands for."""
    read = map(json.loads, EXAMPLES.read_text("utf-8").splitlines())
    return {each["form"]: Example(each["form"], each["sql"], tuple(map(tuple, each["rows"]))) for each in read}


def example_of(row: Row) -> Example | None:
    """The example of one of the row's forms."""
    return next((examples()[form] for form in row.forms if form in examples()), None)


def _topics() -> str:
    """Links to the tables."""
    return ", ".join(f"[{title}](#{title.lower().replace(' ', '-')})" for title in tables()) + "."


def _shown() -> dict[str, list[Function]]:
    """The functions that can be written, by topic; those behind syntax of its own stand in the table of forms."""
    shown: dict[str, list[Function]] = {}
    for family, functions in by_family().items():
        written = [function for function in functions if not _is_behind_syntax(function)]
        if written:
            shown[family] = written
    return shown


def _is_behind_syntax(function: Function) -> bool:
    return " " in function.name or function.name in _BEHIND_SYNTAX


_BEHIND_SYNTAX: Final = ("setseed", "extract", "~~", "~~*", "like", "ilike", "is_normalized")


def completions() -> list[tuple[str, str, str, str]]:
    """What an editor offers: name, form, result and meaning of everything that is called by a name, in order."""
    functions = [each for family in by_family().values() for each in family if each.name.isidentifier()]
    offered = [(each.name, _form(each), each.result_text, each.summary) for each in functions]
    offered += [
        (each.name, _aggregate_form(each), each.result_text, each.summary) for of in AGGREGATES.values() for each in of
    ]
    windows = [each for forms in WINDOW_FUNCTIONS.values() for each in forms]
    offered += [(each.name, _window_form(each), each.result, each.summary) for each in windows]
    return sorted(set(offered))


def _table(title: str, rows: list[Row]) -> Iterator[str]:
    results = any(row.results for row in rows)
    yield f"## {title}\n"
    yield (
        "| form | result | meaning | example |\n|---|---|---|---|"
        if results
        else "| form | meaning | example |\n|---|---|---|"
    )
    for row in rows:
        cells = [
            _code(row.forms),
            *([_code(row.results)] if results else []),
            _escaped(row.summary),
            _shown_example(row),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _code(texts: tuple[str, ...]) -> str:
    return "<br>".join(f"`{_escaped(text)}`" for text in texts)


def _shown_example(row: Row) -> str:
    example = example_of(row)
    if example is None:
        return ""
    answer = " ".join(f"`{_escaped(', '.join(_cell(cell) for cell in each))}`" for each in example.rows)
    return f"{_code(tuple(example.sql.splitlines()))} → {answer}"


def _cell(text: str | None) -> str:
    if text is None:
        return "NULL"
    # Markdown has no empty code, and cuts a blank at its ends.
    return text if text.strip() == text and text else f"'{text}'"


def _syntax() -> list[Row]:
    forms = {construct.form: construct.summary for construct in SYNTAX.values() if construct.form}
    return [Row("", (form,), (), forms[form]) for form in sorted(forms, key=str.lower)]


def _function_rows(functions: list[Function]) -> list[Row]:
    entries = sorted(functions, key=lambda entry: entry.key)
    return _merged([(each.name, _form(each), each.result_text, each.summary) for each in entries])


def _merged(entries: list[tuple[str, str, str, str]]) -> list[Row]:
    """A row for each name and meaning, of entries of name, form, result and meaning."""
    rows: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, form, result, summary in entries:
        rows.setdefault((name, summary), []).append((form, result))
    return [
        Row(name, tuple(form for form, _ in found), tuple(result for _, result in found), summary)
        for (name, summary), found in rows.items()
    ]


def _form(function: Function) -> str:
    """How a call is written; `!` marks an argument that has to be a constant."""
    words = [f"{parameter.type}{'!' if parameter.constant else ''}" for parameter in function.parameters]
    if function.variadic:
        words[-1] += "..."
    operator = not function.name[0].isalnum() or " " in function.name
    if operator and len(words) == 2:
        return f"{words[0]} {function.name} {words[1]}"
    return f"{function.name} {words[0]}" if operator and len(words) == 1 else f"{function.name}({', '.join(words)})"


def _aggregates() -> list[Row]:
    entries = [each for name in sorted(AGGREGATES) for each in AGGREGATES[name]]
    return _merged([(each.name, _aggregate_form(each), each.result_text, each.summary) for each in entries])


def _aggregate_form(entry: Aggregate) -> str:
    parameters = ", ".join(entry.parameters)
    if entry.direct is not None:
        return f"{entry.name}({', '.join(entry.direct)}) WITHIN GROUP (ORDER BY {parameters})"
    return f"{entry.name}({parameters or '*'})"


def _windows() -> list[Row]:
    forms = [form for forms in WINDOW_FUNCTIONS.values() for form in forms]
    return _merged([(each.name, _window_form(each), each.result, each.summary) for each in forms])


def _window_form(form: WindowFunction) -> str:
    return f"{form.name}({', '.join(form.parameters)})"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
