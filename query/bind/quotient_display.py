"""The text of a mean or a quotient, whose digits after the point depend on what was divided."""

from dataclasses import replace

from query.bind.block import Block
from query.pg.types import INT8, INTEGERS, NUMERIC, TEXT, PgType, natural
from query.plan.tree import AggregateCall, Call, Cast, Column, Scalar

_QUOTIENT = "quotient text(numeric, numeric)"


def shown_quotient(value: Scalar, block: Block) -> Scalar:
    """`avg(x)` and `a / b` of exact numbers as the text that PostgreSQL shows of them; other values as they are."""
    parts = _division(value) or _mean(value, block)
    if parts is None or not all(_is_exact(part.type) for part in parts):
        return value
    args = tuple(part if part.type.name == "numeric" else Cast(natural(part.type, NUMERIC), part) for part in parts)
    return Call(TEXT, _QUOTIENT, args)


def _is_exact(pg_type: PgType) -> bool:
    return pg_type.name in INTEGERS or (pg_type.name == "numeric" and pg_type.exact)


def _division(value: Scalar) -> tuple[Scalar, ...] | None:
    return value.args if isinstance(value, Call) and value.function == "/(numeric, numeric)" else None


def _mean(value: Scalar, block: Block) -> tuple[Scalar, ...] | None:
    """The sum and the number of values behind a mean that the block has computed."""
    if not isinstance(value, Column) or value.type.name != "numeric":
        return None
    calls = (call for call, field in block.aggregates.items() if field.id == value.id)
    mean = next((call for call in calls if call.function == "avg"), None)
    return None if mean is None else (block.aggregate(_total(mean)), block.aggregate(_count(mean)))


def _total(mean: AggregateCall) -> AggregateCall:
    source = mean.args[0].type
    pg_type = source if source.name == "numeric" else NUMERIC if source.name == "int8" else INT8
    return replace(mean, type=pg_type, function="sum")


def _count(mean: AggregateCall) -> AggregateCall:
    return replace(mean, type=INT8, function="count")
