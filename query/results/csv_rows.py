"""Result rows as CSV, with the text that PostgreSQL's `COPY ... TO ... (FORMAT csv, HEADER)` gives each value.

NULL is an empty field, the empty string `""`; time zone UTC; RFC 4180 quoting.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.expr.text_output import float_text
from query.functions.zone_arithmetic import text_at_zone
from query.pg.types import TEXT, PgType
from storage.exactly import exactly

TIMESTAMP: Final = "%Y-%m-%d %H:%M:%S%.f"
TEXTS: Final = ("text", "json", "jsonb", "unknown", "bytea", "record")
PLAIN_FROM: Final = 1e-4
PLAIN_BELOW: Final = 1e15
# What makes a spreadsheet take a cell for a formula, full-width forms included (OWASP, "CSV Injection").
FORMULA: Final = r"^[=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]"


class Csv:
    """CSV with a header line. `escape_formulas` puts a quote mark before text that a spreadsheet would execute."""

    def __init__(self, names: Sequence[str], types: Sequence[str], *, escape_formulas: bool) -> None:
        self._names, self._types, self._escape = names, types, escape_formulas

    def begin(self) -> bytes:
        names = pl.DataFrame({"name": self._names}).select(_harmless(pl.col("name")) if self._escape else pl.all())
        return _written(names.transpose())

    def rows(self, frame: pl.DataFrame) -> bytes:
        columns = zip(frame.schema.items(), self._types, strict=True)
        return _written(
            frame.select(
                self._cell(exactly(name), dtype, type_name).alias(name) for (name, dtype), type_name in columns
            )
        )

    def end(self) -> bytes:
        return b""

    def _cell(self, value: pl.Expr, dtype: pl.DataType, type_name: str) -> pl.Expr:
        text = value_text(value, dtype, type_name)
        return _harmless(text) if self._escape and type_name.removesuffix("[]") in TEXTS else text


def value_text(value: pl.Expr, dtype: pl.DataType, type_name: str, zone: str = "") -> pl.Expr:
    """PostgreSQL's text of each value; null stays null. `type_name` is the PostgreSQL type, `zone` that of instants."""
    if isinstance(dtype, pl.List):
        return _array_text(value, dtype, type_name, zone)
    if isinstance(dtype, pl.Boolean):
        return pl.when(value).then(pl.lit("t")).when(~value).then(pl.lit("f"))
    if isinstance(dtype, pl.Datetime) and dtype.time_zone and zone:
        moment = PgType("timestamptz", unit=dtype.time_unit)
        return text_at_zone(CallContext((moment,), TEXT), value, zone, in_json=False)
    if isinstance(dtype, pl.Datetime):
        text = _trim(value.dt.strftime(TIMESTAMP))
        return pl.concat_str(text, pl.lit("+00")) if dtype.time_zone else text
    if isinstance(dtype, pl.Time):
        return _trim(value.dt.strftime("%H:%M:%S%.f"))
    if isinstance(dtype, pl.Binary):
        return pl.format("\\x{}", value.bin.encode("hex"))
    return _float_text(value) if dtype.is_float() else value.cast(pl.String)


def _array_text(value: pl.Expr, dtype: pl.List, type_name: str, zone: str) -> pl.Expr:
    """`{a,"b c",NULL}`: PostgreSQL's array output, quoted where its input would need it."""
    inner = dtype.inner if isinstance(dtype.inner, pl.DataType) else dtype.inner()
    text = value_text(pl.element(), inner, type_name.removesuffix("[]"), zone)
    if isinstance(inner, pl.List):
        return _joined(value, text)
    special = text.str.contains(r'(?i)^$|^null$|[{}",\\\s]')
    escaped = text.str.replace_all("\\", "\\\\", literal=True).str.replace_all('"', '\\"', literal=True)
    quoted = pl.when(special).then(pl.concat_str(pl.lit('"'), escaped, pl.lit('"'))).otherwise(text)
    return _joined(value, quoted)


def _joined(value: pl.Expr, element: pl.Expr) -> pl.Expr:
    joined = value.list.eval(element.fill_null("NULL")).list.join(",")
    return pl.concat_str(pl.lit("{"), joined, pl.lit("}"))


def _trim(text: pl.Expr) -> pl.Expr:
    """A time without the zeros that end its fraction."""
    return text.str.replace(r"(\.[0-9]*[1-9])0+$", "${1}")


def _float_text(value: pl.Expr) -> pl.Expr:
    """PostgreSQL's layout: `1`, `0.1`, `1e+20`, `NaN`. Polars has the same one for what lies between the extremes."""
    plain = (value == 0) | ((value.abs() >= PLAIN_FROM) & (value.abs() < PLAIN_BELOW))
    rest = pl.when(~plain).then(value).map_elements(float_text, return_dtype=pl.String)
    return pl.when(plain).then(value.cast(pl.String).str.strip_suffix(".0")).otherwise(rest)


def _harmless(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(FORMULA)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)


def _written(frame: pl.DataFrame) -> bytes:
    return frame.write_csv(include_header=False).encode()
