"""Result rows as JSON: an array of objects, or an object a line.

Rows are rendered by Polars, column by column. numeric and json columns are inlined as they are, because JSON text
is already what they hold; nothing passes through Python objects (docs/decisions/query-processes.md has the ratios).
"""

import json
from collections.abc import Sequence
from typing import Final

import polars as pl

from storage.exactly import exactly

# RFC 3339; the fraction has 0, 3, 6 or 9 digits. An instant has its zone, a `timestamp without time zone` none: with a
# Z, the wall clock of another zone would be read as an instant that is hours away.
LOCAL: Final = "%Y-%m-%dT%H:%M:%S%.f"
INSTANT: Final = LOCAL + "Z"


class Lines:
    """NDJSON: one object a line, keys in SELECT order. With `fields`, a first line `{"fields": [...]}`."""

    def __init__(self, names: Sequence[str], types: Sequence[str], *, fields: bool, send_null: bool) -> None:
        self._names, self._types, self._fields, self._send_null = names, types, fields, send_null

    def begin(self) -> bytes:
        return f'{{"fields":{_names(self._names)}}}\n'.encode() if self._fields else b""

    def rows(self, frame: pl.DataFrame) -> bytes:
        return lines(frame, self._types, send_null=self._send_null)

    def end(self) -> bytes:
        return b""


class Array:
    """A JSON array of objects; with `fields`, `{"fields": [...], "records": [...]}`. No white space."""

    def __init__(self, names: Sequence[str], types: Sequence[str], *, fields: bool, send_null: bool) -> None:
        self._names, self._types, self._fields, self._send_null = names, types, fields, send_null
        self._separator = b""

    def begin(self) -> bytes:
        return f'{{"fields":{_names(self._names)},"records":['.encode() if self._fields else b"["

    def rows(self, frame: pl.DataFrame) -> bytes:
        # A line feed inside a JSON string is escaped, so every bare one separates rows.
        separated = lines(frame, self._types, send_null=self._send_null)[:-1].replace(b"\n", b",")
        separator, self._separator = self._separator, b","
        return separator + separated

    def end(self) -> bytes:
        return b"]}" if self._fields else b"]"


def lines(frame: pl.DataFrame, types: Sequence[str], *, send_null: bool) -> bytes:
    """One JSON object a line, each with its line feed. `types[i]` is the PostgreSQL type of the i-th column."""
    if not frame.width:
        return b"{}\n" * frame.height
    columns = list(zip(frame.schema.items(), types, strict=True))
    raw = [name for (name, dtype), type_name in columns if _is_raw(dtype, type_name)]
    prepared = frame.select(
        _to_json_value(exactly(name), dtype, type_name).alias(name) for (name, dtype), type_name in columns
    )
    if send_null and not raw:
        return prepared.write_ndjson().encode()
    members = _all_members(prepared.columns, raw) if send_null else _present_members(prepared.columns, raw)
    rows = prepared.select(pl.concat_str(pl.lit("{"), members, pl.lit("}")).alias("row"))
    text: str = rows.to_series().str.join("\n").item()
    return text.encode() + b"\n"


def _names(names: Sequence[str]) -> str:
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"))


def _is_raw(dtype: pl.DataType, type_name: str) -> bool:
    """Whether the prepared column holds JSON text rather than a value to be written as JSON."""
    if isinstance(dtype, pl.List):
        return _is_raw(_inner(dtype), type_name.removesuffix("[]"))
    return isinstance(dtype, pl.Decimal) or type_name in ("json", "jsonb", "numeric")


def _inner(dtype: pl.List) -> pl.DataType:
    return dtype.inner if isinstance(dtype.inner, pl.DataType) else dtype.inner()


def _to_json_value(value: pl.Expr, dtype: pl.DataType, type_name: str) -> pl.Expr:
    """The column in a form whose native JSON is ours, or as JSON text when it is raw."""
    if isinstance(dtype, pl.List):
        inner = _inner(dtype)
        elements = value.list.eval(_to_json_value(pl.element(), inner, type_name.removesuffix("[]")))
        if not _is_raw(dtype, type_name):
            return elements
        items = elements.list.eval(pl.element().fill_null("null")).list.join(",")
        return pl.concat_str(pl.lit("["), items, pl.lit("]"))
    if isinstance(dtype, pl.Datetime):
        return value.dt.strftime(LOCAL if type_name == "timestamp" else INSTANT)
    if type_name in ("json", "jsonb"):
        # Outside its strings, where it cannot stand, a line feed in a JSON document is white space.
        return value.str.replace_all("\n", " ", literal=True)
    if isinstance(dtype, pl.Decimal) or type_name == "numeric":
        return _number(value.cast(pl.String))
    if isinstance(dtype, pl.Binary):
        return pl.format("\\x{}", value.bin.encode("hex"))
    return value.fill_nan(None) if dtype.is_float() else value


def _number(text: pl.Expr) -> pl.Expr:
    """NaN and the infinities are no JSON."""
    return pl.when(~text.is_in(["NaN", "Infinity", "-Infinity", "inf", "-inf"])).then(text)


def _all_members(names: Sequence[str], raw: Sequence[str]) -> pl.Expr:
    """Every member of a row: runs of native columns are written together, raw ones pasted between them."""
    parts: list[pl.Expr] = []
    run: list[str] = []
    for name in names:
        if name not in raw:
            run.append(name)
            continue
        if run:
            parts.append(_encode_names(run))
        run = []
        parts.append(_paste_member(name, exactly(name).fill_null("null")))
    if run:
        parts.append(_encode_names(run))
    return pl.concat_str(parts, separator=",")


def _present_members(names: Sequence[str], raw: Sequence[str]) -> pl.Expr:
    """The members that are not null, each written on its own."""
    parts = [
        pl.when(exactly(name).is_not_null()).then(
            _paste_member(name, exactly(name)) if name in raw else _encode_names([name])
        )
        for name in names
    ]
    return pl.concat_str(parts, separator=",", ignore_nulls=True)


def _encode_names(names: Sequence[str]) -> pl.Expr:
    return pl.struct([exactly(name) for name in names]).struct.json_encode().str.strip_prefix("{").str.strip_suffix("}")


def _paste_member(name: str, text: pl.Expr) -> pl.Expr:
    return pl.concat_str(pl.lit(json.dumps(name, ensure_ascii=False) + ":"), text)
