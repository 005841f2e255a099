"""Result rows as `COPY (query) TO STDOUT` sends them: CopyData messages, one a row, in blocks as of data rows.

Source: PostgreSQL's manual, "COPY", section "File Formats".
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from query.results.cells import text_cell
from query.results.data_rows import block, joined_cells, messages
from query.results.options import Copy
from storage.exactly import exactly

SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER: Final = b"\xff\xff"
ESCAPES: Final = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


class CopyRows:
    """CopyData messages in text, csv or binary."""

    def __init__(self, names: Sequence[str], types: Sequence[str], copy: Copy) -> None:
        self._names, self._types, self._copy = names, types, copy
        # Clients read it in one message with the first row, as PostgreSQL sends it.
        self._signature = SIGNATURE if copy.format == "binary" else b""

    def begin(self) -> bytes:
        if not self._copy.header:
            return b""
        names = pl.DataFrame([pl.Series(str(at), [name]) for at, name in enumerate(self._names)])
        header = names.select(self._line([self._header_cell(pl.col(name)) for name in names.columns]).alias("row"))
        return block(messages(b"d", header.to_series()), 0)

    def rows(self, frame: pl.DataFrame) -> bytes:
        if self._copy.format == "binary":
            bodies = joined_cells(frame, self._types, [True] * frame.width)
            first = bodies.head(1).to_frame().select(pl.lit(self._signature) + pl.col("row")).to_series().alias("row")
            self._signature = b""
            return block(messages(b"d", first.append(bodies.slice(1))), frame.height)
        columns = zip(self._names, frame.schema.items(), self._types, strict=True)
        cells = [
            self._cell(text_cell(exactly(name), dtype, type_name), is_forced=self._is_forced(shown))
            for shown, (name, dtype), type_name in columns
        ]
        lines = frame.select(self._line(cells).alias("row"))
        return block(messages(b"d", lines.to_series()), frame.height)

    def end(self) -> bytes:
        if self._copy.format != "binary":
            return b""
        return block(messages(b"d", pl.Series("row", [self._signature + TRAILER])), 0)

    def _line(self, cells: Sequence[pl.Expr]) -> pl.Expr:
        return pl.concat_str(pl.concat_str(*cells, separator=self._copy.delimiter), pl.lit("\n")).cast(pl.Binary)

    def _is_forced(self, name: str) -> bool:
        return "*" in self._copy.quoted or name in self._copy.quoted

    def _header_cell(self, text: pl.Expr) -> pl.Expr:
        return self._cell(text, is_forced=False)

    def _cell(self, text: pl.Expr, *, is_forced: bool) -> pl.Expr:
        cell = self._quoted(text, is_forced) if self._copy.format == "csv" else self._escaped(text)
        return cell.fill_null(self._copy.null)

    def _escaped(self, text: pl.Expr) -> pl.Expr:
        delimiter = self._copy.delimiter
        # The backslash first, which the others put in.
        for character, written in ({**ESCAPES, delimiter: ESCAPES.get(delimiter, "\\" + delimiter)}).items():
            text = text.str.replace_all(character, written, literal=True)
        return text

    def _quoted(self, text: pl.Expr, is_forced: bool) -> pl.Expr:
        copy = self._copy
        escaped = text
        for character in dict.fromkeys((copy.escape, copy.quote)):
            escaped = escaped.str.replace_all(character, copy.escape + character, literal=True)
        quoted = pl.concat_str(pl.lit(copy.quote), escaped, pl.lit(copy.quote))
        if is_forced:
            return quoted
        special = (text == copy.null) | (text == "\\.")
        for character in (copy.delimiter, copy.quote, "\n", "\r"):
            special = special | text.str.contains(character, literal=True)
        return pl.when(special).then(quoted).otherwise(text)
