"""The corpus as clients of PostgreSQL see it: names, types and texts of our rows are PostgreSQL's, and binary says the
same as text (api.md section 6)."""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from decimal import Decimal

import polars as pl
import psycopg
import pytest
from psycopg.adapt import Transformer
from psycopg.pq import Format as Wire

from errors import WeirError
from query import engine
from query.expr.row_errors import RowFault
from query.pg.oids import oid
from query.results import formats
from query.results.options import Format, Options
from query.syntax.parse import parse
from tests.oracle.harness import corpus
from tests.oracle.harness.answer import Answer
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.session import Session
from tests.oracle.harness.subject import NOW, _collected

QUERIES = corpus.every_query()
# Kept apart by psycopg, and compared as texts elsewhere.
NO_BINARY = {"record", "record[]", "unknown", "void", "tsvector", "tsvector[]", "tsquery"}
# Types of texts that the engine has no name of its own for.
TOLD_AS_TEXT = {"regtype": "text", "varchar": "text", "bpchar": "text", "name": "text"}
REFUSED = corpus.read_list(corpus.REFUSALS)
WRONG = corpus.read_list(corpus.KNOWN_WRONG)


def collected(session: Session, query: Query) -> tuple[list[str], pl.DataFrame]:
    """Types and rows of our answer."""
    compiled = engine.prepare(parse(query.sql), session.subject._tables, now=NOW, zone=query.zone, as_text=True)
    return [field.type for field in compiled.fields], _collected(compiled.frame)


def rendered(types: list[str], frame: pl.DataFrame, zone: str, *, binary: bool) -> list[list[bytes | None]]:
    """The cells of the rows as DataRow messages hold them, in a session of the zone."""
    fields = [engine.ResultField(name, kind) for name, kind in zip(frame.columns, types, strict=True)]
    pieces: list[bytes] = []
    formats.stream(frame.lazy(), fields, Options(Format.DATA_ROWS, binary=(binary,)), pieces.append, zone)
    return list(rows(b"".join(pieces)))


def rows(content: bytes) -> Iterator[list[bytes | None]]:
    """The cells of the DataRow messages in blocks."""
    at = 0
    while at < len(content):
        length, _ = struct.unpack_from("<II", content, at)
        end, at = at + 8 + length, at + 8
        while at < end:
            kind, size, count = struct.unpack_from("!cih", content, at)
            assert kind == b"D"
            cell, row = at + 7, []
            for _ in range(count):
                (width,) = struct.unpack_from("!i", content, cell)
                row.append(None if width < 0 else content[cell + 4 : cell + 4 + width])
                cell += 4 + max(width, 0)
            at += 1 + size
            assert at == cell
            yield row


def value(cell: object, kind: str) -> object:
    """What a text says, where several texts say the same: numbers are equal however many digits show them."""
    if cell is None:
        return None
    text = cell.decode() if isinstance(cell, bytes) else str(cell)
    if kind in ("json", "jsonb"):
        return json.dumps(json.loads(text, parse_int=number, parse_float=number), sort_keys=True)
    if kind == "numeric[]":
        return [each if each == "NULL" else number(each) for each in text.strip("{}").split(",") if each]
    try:
        return float(f"{number(text):.12g}")
    except ValueError:
        return text


def number(text: str) -> float:
    """Negative zero is zero: whose sign is shown differs."""
    return float(text) + 0.0


def ordered(found: list[list[object]], query: Query) -> list[str]:
    shown = [repr(row) for row in found]
    return shown if query.ordered else sorted(shown)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_rows_are_written_as_postgresql_writes_them(session: Session, query: Query):
    """In text as there; in binary with the same values, as psycopg reads both."""
    theirs = session.reference.run(query.sql, query.zone, as_shown=True)
    try:
        types, frame = collected(session, query)
        texts = rendered(types, frame, query.zone, binary=False)
    except (WeirError, RowFault, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pytest.skip("refused, or an error of the statement")

    if isinstance(theirs, Answer) and not {*WRONG, *REFUSED} & {query.id}:
        ours = [[value(cell, kind) for cell, kind in zip(row, types, strict=True)] for row in texts]
        reference = [[value(cell, kind) for cell, kind in zip(row, types, strict=True)] for row in theirs.rows]
        assert as_texts(types) == as_texts(theirs.types)
        assert ordered(ours, query) == ordered(reference, query)
    if all(kind.count("[]") < 2 and kind not in NO_BINARY for kind in types):
        binaries = rendered(types, frame, query.zone, binary=True)
        transformer = Transformer()
        for text_row, binary_row in zip(texts, binaries, strict=True):
            for kind, text, binary in zip(types, text_row, binary_row, strict=True):
                assert (text is None) == (binary is None)
                if text is not None and binary is not None:
                    told = load(transformer, text, kind, Wire.TEXT)
                    # Read from text, psycopg's float of a real is the nearest to its digits, not to its value.
                    told = struct.unpack("!f", struct.pack("!f", told))[0] if kind == "float4" else told
                    assert same(told, load(transformer, binary, kind, Wire.BINARY))


def as_texts(types: Sequence[str]) -> list[str]:
    """The types, those of texts under one name, also in arrays."""
    plain = [(kind.removesuffix("[]"), kind.endswith("[]")) for kind in types]
    return [TOLD_AS_TEXT.get(kind, kind) + "[]" * is_array for kind, is_array in plain]


def load(transformer: Transformer, cell: bytes, kind: str, form: Wire) -> object:
    """The value as psycopg reads it; the error's text where Python has no such value, as of the year 10000."""
    try:
        return transformer.get_loader(oid(kind), form).load(cell)
    except (psycopg.DataError, OverflowError, ValueError) as error:
        return type(error).__name__


def same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, Decimal) and isinstance(right, Decimal) and left.is_nan():
        return right.is_nan()
    return left == right or repr(left) == repr(right)
