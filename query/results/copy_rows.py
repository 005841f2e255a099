"""Result rows as `COPY (query) TO STDOUT` sends them: CopyData messages, one a row, in blocks as of data rows.

Source: PostgreSQL's manual, "COPY", section "File Formats".
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from query.results.cells import cells_of, text_cell
from query.results.data_rows import BLOCK, block, blocks
from query.results.options import Copy
from query.results.row_bytes import HEAD_BYTES, LENGTH_BYTES, Buffer, Integers, rows_of_cells, rows_of_lines
from storage.exactly import exactly

SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER: Final = b"\xff\xff"
ESCAPES: Final = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


class CopyRows:
    """CopyData messages in text, csv or binary."""

    def __init__(self, names: Sequence[str], types: Sequence[str], copy: Copy, zone: str = "") -> None:
        self._names, self._types, self._copy, self._zone = names, types, copy, zone
        # Clients read it in one message with the first row, as PostgreSQL sends it.
        self._signature = SIGNATURE if copy.format == "binary" else b""

    def begin(self) -> bytes:
        if not self._copy.header:
            return b""
        names = pl.DataFrame([pl.Series(str(at), [name]) for at, name in enumerate(self._names)])
        header = names.select(self._line([self._header_cell(pl.col(name)) for name in names.columns]).alias("row"))
        return block(_message(header.item().encode()))

    def rows(self, frame: pl.DataFrame) -> bytes:
        if self._copy.format == "binary":
            return self._binary_rows(frame)
        columns = zip(self._names, frame.schema.items(), self._types, strict=True)
        cells = [
            self._cell(text_cell(exactly(name), dtype, type_name, self._zone), is_forced=self._is_forced(shown))
            for shown, (name, dtype), type_name in columns
        ]
        lines = frame.select(self._line(cells).alias("row"))
        return blocks(*rows_of_lines(b"d", lines.to_series()))

    def _binary_rows(self, frame: pl.DataFrame) -> bytes:
        messages, starts = rows_of_cells(b"d", cells_of(frame, self._types, [True] * frame.width))
        return self._signed(messages, starts) if self._signature else blocks(messages, starts)

    def _signed(self, messages: Buffer, starts: Integers) -> bytes:
        """The rows, the first of them behind the signature."""
        end = int(starts[1]) if len(starts) > 1 else len(messages)
        first = _message(self._signature + messages[HEAD_BYTES:end].tobytes())
        self._signature = b""
        return BLOCK.pack(len(first), 1) + first + blocks(messages[end:], starts[1:] - end)

    def end(self) -> bytes:
        if self._copy.format != "binary":
            return b""
        return block(_message(self._signature + TRAILER))

    def _line(self, cells: Sequence[pl.Expr]) -> pl.Expr:
        return pl.concat_str(pl.concat_str(*cells, separator=self._copy.delimiter), pl.lit("\n"))

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


def _message(body: bytes) -> bytes:
    """A CopyData message."""
    return b"d" + (len(body) + LENGTH_BYTES).to_bytes(LENGTH_BYTES) + body
