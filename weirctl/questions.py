"""`weirctl query`: rows of an SQL statement, as a table or in a format that programs read."""

import sys
from typing import Final

import click

from weirctl.client import Server
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
    body = {name: value for name, value in (("query", text), ("startTime", start), ("endTime", end)) if value}
    chosen = form or ("table" if sys.stdout.isatty() else "ndjson")
    if chosen == "table":
        found = server.call("POST", "/api/v1/query?fields=true", json=body)
        records = found.json()
        show(records["records"], [_name(each) for each in records["fields"]])
        note(f"{len(records['records'])} rows in {found.headers.get('X-Weir-Elapsed-Ms', '?')} ms")
        return
    with server.call("POST", "/api/v1/query", json=body, headers={"Accept": FORMATS[chosen]}, stream=True) as answer:
        for piece in answer.iter_content(CHUNK_BYTES):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _name(field: object) -> str:
    return str(field["name"]) if isinstance(field, dict) else str(field)
