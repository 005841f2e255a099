"""`weirctl query`: rows of an SQL statement, as a table or in a format that programs read; the queries that run."""

import sys
from typing import Final

import click

from weirctl.client import Refused, Server, quoted
from weirctl.printing import note, show

FORMATS: Final = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
CHUNK_BYTES: Final = 64 * 1024


@click.command()
@click.argument("sql")
@click.option("--start", help="RFC 3339, or back from the end, as 1h.")
@click.option("--end", help="RFC 3339 or now.")
@click.option(
    "--format", "form", type=click.Choice(["table", *FORMATS]), help="Default: a table on a terminal, ndjson in a pipe."
)
@click.pass_obj
def query(server: Server, sql: str, start: str | None, end: str | None, form: str | None) -> None:
    """Run SQL (`-` reads it from standard input) and print the rows."""
    text = sys.stdin.read() if sql == "-" else sql
    if not text.strip():
        raise click.UsageError("there is no SQL: write a statement, as 'SELECT 1'")
    body = {name: value for name, value in (("query", text), ("startTime", start), ("endTime", end)) if value}
    try:
        _ask(server, body, form or ("table" if sys.stdout.isatty() else "ndjson"))
    except Refused as error:
        raise Refused(f"{error}{pointed_at(text, error.said.get('position'))}", error.status, error.said) from error


def _ask(server: Server, body: dict[str, str], form: str) -> None:
    if form == "table":
        found = server.call("POST", "/api/v1/query?fields=true", json=body)
        records = found.json()
        show(records["records"], [_name(each) for each in records["fields"]])
        note(f"{len(records['records'])} rows in {found.headers.get('X-Weir-Elapsed-Ms', '?')} ms")
        note_outside_range(found.headers.get("X-Weir-Outside-Range"))
        return
    with server.call("POST", "/api/v1/query", json=body, headers={"Accept": FORMATS[form]}, stream=True) as answer:
        for piece in answer.iter_content(CHUNK_BYTES):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        note_outside_range(answer.headers.get("X-Weir-Outside-Range"))


def note_outside_range(datasets: str | None) -> None:
    """The usual reason for an answer without rows."""
    if datasets:
        note(f"note: no event of {datasets} is in the time range")


def pointed_at(sql: str, position: object) -> str:
    """The line of the statement with a mark below the character, counted from 1; nothing without a position.

    >>> print(pointed_at("SELECT n\\nFROM app", 15))
    <BLANKLINE>
      FROM app
           ^
    """
    if not isinstance(position, int) or not 1 <= position <= len(sql) + 1:
        return ""
    before = sql[: position - 1]
    begin = before.rfind("\n") + 1
    line = sql[begin:].split("\n", 1)[0]
    return f"\n  {line}\n  {' ' * (position - 1 - begin)}^"


def _name(field: object) -> str:
    return str(field["name"]) if isinstance(field, dict) else str(field)


@click.group()
def queries() -> None:
    """Queries that run: list, cancel."""


@queries.command("list")
@click.pass_obj
def list_queries(server: Server) -> None:
    """The queries that wait or run: yours, an administrator's all of the tenant."""
    show(server.call("GET", "/api/v1/queries").json(), ["id", "identity", "startedAt", "query"])


@queries.command("cancel")
@click.argument("query_id")
@click.pass_obj
def cancel_query(server: Server, query_id: str) -> None:
    """End a query."""
    note(server.call("DELETE", f"/api/v1/queries/{quoted(query_id)}").json()["message"])
