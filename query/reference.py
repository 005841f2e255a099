"""docs/sql.md: what the engine supports, written from the registry that the compiler uses.

`python -m query.reference` writes the page; a test compares it with the registry.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import query.bind  # noqa: F401
from query.functions.registry import AGGREGATES, SYNTAX, WINDOW_FUNCTIONS, Aggregate, Function, by_family

PAGE: Final = Path(__file__).parent.parent / "docs" / "sql.md"
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
  and arrays of one dimension. `jsonpath` as a constant. Functions that PostgreSQL implements operators with
  (`jsonb_contains`, `int4eq`) are taken for the operators.
- Extensions: an unquoted name also matches a column case-insensitively when unique; `TRY_CAST`;
  `approx_count_distinct`.

Limits: `numeric` has 38 digits, of a quotient up to 22 after the point: as many as PostgreSQL would have, row by
row. Years are 1 to 9999. The time zone is UTC.
Text is ordered by code point (`COLLATE "C"`).

## Topics

{topics}

`!` marks an argument that has to be a constant, `...` one that repeats.
"""


def page() -> str:
    """The whole page as Markdown."""
    introduction = _INTRODUCTION.replace("{topics}", _topics())
    return "\n".join([introduction, *_syntax(), *_functions(), *_aggregates(), *_windows()]).rstrip() + "\n"


def _topics() -> str:
    """Links to the tables."""
    titles = ("Syntax", *sorted(_shown()), "Aggregates", "Window functions")
    return ", ".join(f"[{title}](#{title.lower().replace(' ', '-')})" for title in titles) + "."


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


_BEHIND_SYNTAX: Final = ("sampled", "extract")


def completions() -> list[tuple[str, str, str, str]]:
    """What an editor offers: name, form, result and meaning of everything that is called by a name, in order."""
    functions = [each for family in by_family().values() for each in family if each.name.isidentifier()]
    offered = [(each.name, _form(each), each.result_text, each.summary) for each in functions]
    offered += [
        (each.name, _aggregate_form(each), each.result_text, each.summary) for of in AGGREGATES.values() for each in of
    ]
    windows = [each for forms in WINDOW_FUNCTIONS.values() for each in forms]
    offered += [
        (each.name, f"{each.name}({', '.join(each.parameters)})", each.result, each.summary) for each in windows
    ]
    return sorted(set(offered))


def _syntax() -> Iterator[str]:
    yield "## Syntax\n"
    yield "| form | meaning |\n|---|---|"
    forms = {construct.form: construct.summary for construct in SYNTAX.values() if construct.form}
    for form in sorted(forms, key=str.lower):
        yield f"| `{_escaped(form)}` | {_escaped(forms[form])} |"
    yield ""


def _functions() -> Iterator[str]:
    for family, functions in sorted(_shown().items()):
        yield f"## {family}\n"
        yield "| form | result | meaning |\n|---|---|---|"
        for function in sorted(functions, key=lambda entry: entry.key):
            form, result = _escaped(_form(function)), _escaped(function.result_text)
            yield f"| `{form}` | `{result}` | {_escaped(function.summary)} |"
        yield ""


def _form(function: Function) -> str:
    """How a call is written; `!` marks an argument that has to be a constant."""
    words = [f"{parameter.type}{'!' if parameter.constant else ''}" for parameter in function.parameters]
    if function.variadic:
        words[-1] += "..."
    operator = not function.name[0].isalnum() or " " in function.name
    if operator and len(words) == 2:
        return f"{words[0]} {function.name} {words[1]}"
    return f"{function.name} {words[0]}" if operator and len(words) == 1 else f"{function.name}({', '.join(words)})"


def _aggregates() -> Iterator[str]:
    yield "## Aggregates\n"
    yield "| form | result | meaning |\n|---|---|---|"
    for name in sorted(AGGREGATES):
        for entry in AGGREGATES[name]:
            yield f"| `{_aggregate_form(entry)}` | `{entry.result_text}` | {_escaped(entry.summary)} |"
    yield ""


def _aggregate_form(entry: Aggregate) -> str:
    parameters = ", ".join(entry.parameters)
    if entry.direct is not None:
        return f"{entry.name}({', '.join(entry.direct)}) WITHIN GROUP (ORDER BY {parameters})"
    return f"{entry.name}({parameters or '*'})"


def _windows() -> Iterator[str]:
    yield "## Window functions\n"
    yield "| form | result | meaning |\n|---|---|---|"
    for forms in WINDOW_FUNCTIONS.values():
        for form in forms:
            yield f"| `{form.name}({', '.join(form.parameters)})` | `{form.result}` | {_escaped(form.summary)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
