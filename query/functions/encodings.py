"""Text as numbers and bytes, and back: code points, hexadecimal, digests, base64."""

import base64
import hashlib
import re
import zlib
from functools import cache
from typing import Final

import polars as pl

from query import fault
from query.expr.call_context import CallContext
from query.expr.row_errors import declare_row_error
from query.functions.registry import define
from query.pg.bad_values import BadLiteral
from query.pg.text_input import read_escaped_bytes

declare_row_error("chr_zero", fault.PROGRAM_LIMIT, "null character not permitted")
declare_row_error("chr_negative", fault.INVALID_PARAMETER, "character number must be positive")
declare_row_error("chr_range", fault.PROGRAM_LIMIT, "requested character not valid for encoding")

_FAMILY = "Text"


@define("ascii(text) -> int4", "Code of the first character; 0 of an empty text.", family=_FAMILY)
def ascii_code(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: ord(text[0]) if text else 0, value)


@define("chr(int4) -> text", "Character with a code.", family=_FAMILY)
def character(context: CallContext, code: pl.Expr) -> pl.Expr:
    code = context.fail_where(code, code == 0, "chr_zero")
    code = context.fail_where(code, code < 0, "chr_negative")
    code = context.fail_where(code, code > 0x10FFFF, "chr_range")
    return context.rowwise(chr, code)


@define("to_hex(int4) -> text; to_hex(int8) -> text", "Hexadecimal digits, two's complement.", family=_FAMILY)
def to_hex(context: CallContext, value: pl.Expr) -> pl.Expr:
    size = 2 ** (32 if context.types[0].name == "int4" else 64)
    return context.rowwise(lambda number: format(number % size, "x"), value)


@define("md5(text) -> text", "MD5 as hexadecimal digits.", family=_FAMILY)
def md5(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), value)


@define("md5(bytea) -> text", "MD5 as hexadecimal digits.", family=_FAMILY)
def md5_of_bytes(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), value)


@define("sha224(bytea) -> bytea", "SHA-224.", family=_FAMILY)
def sha224(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda data: hashlib.sha224(data).digest(), value)


@define("sha384(bytea) -> bytea", "SHA-384.", family=_FAMILY)
def sha384(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda data: hashlib.sha384(data).digest(), value)


@define("sha512(bytea) -> bytea", "SHA-512.", family=_FAMILY)
def sha512(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda data: hashlib.sha512(data).digest(), value)


@define("crc32(bytea) -> int8", "CRC-32, as in gzip.", family=_FAMILY)
def crc32(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(zlib.crc32, value)


_CASTAGNOLI: Final = 0x82F63B78


@cache
def _castagnoli_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_CASTAGNOLI if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


def _crc32c(data: bytes) -> int:
    table, rest = _castagnoli_table(), 0xFFFFFFFF
    for byte in data:
        rest = rest >> 8 ^ table[(rest ^ byte) & 0xFF]
    return rest ^ 0xFFFFFFFF


@define("crc32c(bytea) -> int8", "CRC-32C, as in iSCSI.", family=_FAMILY)
def crc32c(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(_crc32c, value)


@define("sha256(bytea) -> bytea", "SHA-256.", family=_FAMILY)
def sha256(context: CallContext, value: pl.Expr) -> pl.Expr:
    return context.rowwise(lambda data: hashlib.sha256(data).digest(), value)


@define("encode(bytea, text!) -> text", "Bytes as base64, hex or escape.", family=_FAMILY)
def encode(context: CallContext, value: pl.Expr, form: object) -> pl.Expr:
    match str(form).lower():
        case "hex":
            return value.bin.encode("hex")
        case "base64":
            return context.rowwise(_base64, value)
        case "escape":
            return context.rowwise(_escaped, value)
    raise fault.invalid(fault.INVALID_PARAMETER, f'unrecognized encoding: "{form}"', context.position)


def _escaped(data: bytes) -> str:
    """Zeros and what is no ASCII as three octal digits."""
    return "".join(f"\\{byte:03o}" if byte == 0 or byte > 127 else "\\\\" * (byte == 92) or chr(byte) for byte in data)


def _base64(data: bytes) -> str:
    """PostgreSQL breaks lines after 76 characters."""
    text = base64.b64encode(data).decode()
    return "\n".join(text[position : position + 76] for position in range(0, len(text), 76))


@define("decode(text, text!) -> bytea", "Bytes from base64, hex or escape.", family=_FAMILY)
def decode(context: CallContext, value: pl.Expr, form: object) -> pl.Expr:
    form = str(form).lower()
    if form == "escape":
        return context.rowwise(read_escaped_bytes, value)
    if form not in ("hex", "base64"):
        raise fault.invalid(fault.INVALID_PARAMETER, f'unrecognized encoding: "{form}"', context.position)

    def decoded(text: str) -> bytes:
        try:
            return bytes.fromhex(text) if form == "hex" else base64.b64decode(re.sub(r"\s", "", text), validate=True)
        except ValueError as error:
            raise BadLiteral(fault.INVALID_PARAMETER, f"invalid {form} data") from error

    return context.rowwise(decoded, value)


@define("convert_from(bytea, text!) -> text", "Text from bytes in UTF8.", family=_FAMILY)
def convert_from(context: CallContext, value: pl.Expr, encoding: object) -> pl.Expr:
    if str(encoding).upper().replace("-", "") != "UTF8":
        raise fault.unsupported(f"encoding {encoding}", context.position, "use UTF8")

    def decoded(data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise BadLiteral("22021", 'invalid byte sequence for encoding "UTF8"') from error

    return context.rowwise(decoded, value)
