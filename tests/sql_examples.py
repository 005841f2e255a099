"""Answers the examples of docs/sql.md.

`python -m tests.sql_examples` writes the answers into docs/sql-examples.jsonl; then `python -m query.reference`.
"""

import json
from datetime import UTC, datetime

from query import engine
from query.reference import EXAMPLES, Example, examples
from query.results.cells import text_cell
from query.syntax.parse import parse
from storage.exactly import exactly

Rows = tuple[tuple[str | None, ...], ...]


def answer(example: Example) -> Rows:
    """The rows of our answer in PostgreSQL's text form."""
    compiled = engine.prepare(parse(example.statement), {}, now=datetime.now(UTC))
    types = [field.type for field in compiled.fields]
    schema = compiled.frame.collect_schema()
    columns = zip(schema.items(), types, strict=True)
    cells = [text_cell(exactly(name), dtype, type_name) for (name, dtype), type_name in columns]
    return tuple(compiled.frame.collect().select(cells).rows())


def _line(example: Example) -> str:
    return json.dumps({"form": example.form, "sql": example.sql, "rows": answer(example)}, ensure_ascii=False)


if __name__ == "__main__":
    EXAMPLES.write_text("".join(f"{_line(each)}\n" for each in examples().values()), "utf-8")
