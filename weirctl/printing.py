"""How results are shown: tables on a terminal, JSON lines into a pipe, so that scripts never parse decoration."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text


def show(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """The rows, each with `columns` or, without any, those of the first one."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    found = list(rows)
    named = list(columns) or list(found[0] if found else ())
    table = Table(*named, header_style="bold")
    for row in found:
        # As plain text: a value may look like rich's markup, or hold control characters.
        table.add_row(*(Text(_cell(row.get(name))) for name in named))
    Console().print(table)


def note(text: str) -> None:
    """Something to read that is no result; it must not end up in a pipe."""
    click.echo(text, err=True)


def _cell(value: Any) -> str:
    shown = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in shown)
