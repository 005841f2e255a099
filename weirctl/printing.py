"""How results are shown: tables on a terminal, JSON lines into a pipe, so that scripts never parse decoration."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.cells import cell_len
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
    cells = [[_cell(row.get(name)) for name in named] for row in found]
    console = Console()
    if fits(named, cells, console.width):
        console.print(_table(named, cells))
    else:
        expand(named, cells)


def fits(names: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> bool:
    """Whether a table of the cells is readable on a terminal of this width: no value is broken but the last column's,
    which has a third of the width for itself."""
    widths = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)] if names else []
    borders = 3 * len(widths) + 1
    last = min(widths[-1], width // 3) if widths else 0
    return sum(widths[:-1]) + last + borders <= width


def expand(names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """One line for each value, as psql's expanded form."""
    longest = max(map(len, names), default=0)
    for number, row in enumerate(cells, 1):
        click.echo(f"-[ record {number} ]-".ljust(longest + 20, "-"))
        for name, value in zip(names, row, strict=True):
            click.echo(f"{name.ljust(longest)} | {value}")


def _table(names: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    table = Table(header_style="bold")
    for number, name in enumerate(names, 1):
        table.add_column(name, overflow="fold", no_wrap=number < len(names))
    for row in cells:
        # As plain text: a value may look like rich's markup, or hold control characters.
        table.add_row(*map(Text, row))
    return table


def bytes_text(number: int) -> str:
    """A size as people read it.

    >>> bytes_text(1_500_000)
    '1.5 MB'
    """
    amount, units = float(number), ["bytes", "kB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "bytes" else f"{amount:.1f} {units[0]}"


def note(text: str) -> None:
    """Something to read that is no result; it must not end up in a pipe."""
    click.echo(text, err=True)


def _cell(value: Any) -> str:
    shown = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in shown)
