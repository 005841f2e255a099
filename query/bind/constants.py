"""Constants as they are written: numbers, texts in every kind of quotation, NULL and booleans."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.functions.registry import syntax
from query.pg.types import INT4, INT8, NUMERIC_DIGITS, UNKNOWN, numeric
from query.pg.unicode_escapes import unescape
from query.plan.tree import Constant, Scalar, is_large, truth
from query.syntax.positions import position_of

_LARGEST_EXPONENT: Final = 1_000


@syntax(exp.Literal, form="42, 1.5e3, 'text'", summary="A number, or a text of which the context decides the type.")
def bind_literal(node: exp.Expr, block: Block) -> Scalar:
    """A number, or a text of which the context decides the type."""
    text = str(node.this)
    if node.args.get("is_string"):
        return _untyped(text, node, block)
    return number(text, node)


def _untyped(text: str, node: exp.Expr, block: Block) -> Constant:
    return Constant(UNKNOWN, text, position_of(node), clock=block.environment)


def number(text: str, node: exp.Expr) -> Constant:
    """A numeric literal: int4 or int8 when it fits, else numeric with the scale as written."""
    plain = text.replace("_", "")
    if plain.isdigit():
        value = int(plain)
        if value < 2**63:
            return Constant(INT4 if value < 2**31 else INT8, value)
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    shift = len(fraction) - int(exponent or 0)
    digits = int((whole + fraction) or 0)
    if -shift > _LARGEST_EXPONENT:
        raise fault.unsupported(f"a number of more than {_LARGEST_EXPONENT} digits", position_of(node))
    scale, value = (shift, digits) if shift >= 0 else (0, digits * 10**-shift)
    constant = Constant(numeric(scale), value, position_of(node))
    is_held = len(str(value)) <= NUMERIC_DIGITS and scale <= NUMERIC_DIGITS - 2
    if not is_held and not is_large(constant):
        raise fault.unsupported(f"a number of more than {NUMERIC_DIGITS} digits", position_of(node))
    return constant


@syntax(
    exp.ByteString,
    exp.RawString,
    form="E'\\t', $$text$$",
    summary="A text with escapes, or without any.",
)
def bind_text(node: exp.Expr, block: Block) -> Scalar:
    """E'...' and $$...$$: a text. Not N'...', which is of type character: its last spaces do not count."""
    return _untyped(str(node.this), node, block)


@syntax(exp.Concat, form="'a' 'b' over two lines", summary="One literal.")
def bind_continued(node: exp.Expr, block: Block) -> Scalar:
    """'a' and 'b' on the next line: one literal."""
    return _untyped("".join(str(part.this) for part in node.expressions), node, block)


@syntax(
    exp.UnicodeString, form="U&'\\00e4' [UESCAPE '!']", summary="Code points in hexadecimal behind an escape character."
)
def bind_unicode(node: exp.Expr, block: Block) -> Scalar:
    """U&'...': code points in hexadecimal behind an escape character."""
    sign = node.args.get("escape")
    escape = str(sign.name) if isinstance(sign, exp.Expr) else "\\"
    try:
        return _untyped(unescape(str(node.name), escape), node, block)
    except UnicodeError as error:
        raise fault.invalid(fault.SYNTAX_ERROR, "invalid Unicode escape", position_of(node)) from error


@syntax(exp.Null, form="NULL", summary="NULL, of which the context decides the type.")
def bind_null(node: exp.Expr, block: Block) -> Scalar:
    """NULL, of which the context decides the type."""
    return Constant(UNKNOWN, None, position_of(node))


@syntax(exp.Boolean, form="TRUE, FALSE", summary="A truth value.")
def bind_boolean(node: exp.Expr, block: Block) -> Scalar:
    """TRUE or FALSE."""
    return truth(bool(node.this))
