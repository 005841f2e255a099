"""Ranks of a row that is not there: `rank(100) WITHIN GROUP (ORDER BY latency)`, as counts of the rows before it.

Source: PostgreSQL documentation, "Hypothetical-Set Aggregate Functions".
"""

from collections.abc import Callable
from typing import Final

from query import fault
from query.bind.block import Block
from query.bind.operators import comparison
from query.bind.type_resolution import call, coerce
from query.functions.registry import syntax
from query.pg.types import BOOL, FLOAT8, INT8, UNKNOWN
from query.plan.tree import AggregateCall, Call, Case, Cast, Constant, IsNull, Logic, Scalar, SortKey

ZERO: Final = Constant(INT8, 0)
ONE: Final = Constant(INT8, 1)


def _bind(
    name: str, rank: "Rank", direct: tuple[Scalar, ...], order: tuple[SortKey, ...], block: Block, position: int | None
) -> Scalar:
    """The value of the aggregate. Only one ordering value, and a row that is not NULL, are known."""
    if len(direct) != len(order):
        message = f"function {name} does not exist with these arguments"
        hint = "The number of direct arguments must match the number of ordering columns."
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position, hint)
    if len(order) != 1:
        raise fault.unsupported(f"{name} WITHIN GROUP over several columns", position)
    key, value = order[0], direct[0]
    if isinstance(value, Constant) and value.value is None:
        raise fault.unsupported(f"{name} of NULL", position)
    if value.type.name == UNKNOWN.name:
        value = coerce(value, key.value.type, position)
    return rank(_Ranks(key, value, block, position))


class _Ranks:
    """The counts of which the ranks are made."""

    def __init__(self, key: SortKey, value: Scalar, block: Block, position: int | None) -> None:
        self._key, self._value, self._block, self._position = key, value, block, position

    def _compare(self, symbol: str) -> Scalar:
        """The rows whose ordering value compares so with the row that is not there."""
        return comparison(symbol, self._key.value, self._value, self._position)

    def _null(self) -> Scalar:
        return IsNull(BOOL, self._key.value)

    def _rows(self, where: Scalar | None) -> Scalar:
        return self._block.aggregate(AggregateCall(INT8, "count", (), where=where, position=self._position))

    def rows(self) -> Scalar:
        return self._rows(None)

    def before(self, with_peers: bool = False) -> Scalar:
        """Rows before the one that is not there, and those equal to it."""
        symbol = (">" if self._key.descending else "<") + ("=" if with_peers else "")
        where = self._compare(symbol)
        return self._rows(Logic(BOOL, "or", (where, self._null())) if self._key.nulls_first else where)

    def values_before(self) -> Scalar:
        """Different ordering values before it."""
        where = self._compare(">" if self._key.descending else "<")
        counted = AggregateCall(INT8, "count", (self._key.value,), distinct=True, where=where, position=self._position)
        different = self._block.aggregate(counted)
        if not self._key.nulls_first:
            return different
        some = Call(BOOL, ">(any, any)", (self._rows(self._null()), ZERO))
        return call("+", [different, Case(INT8, ((some, ONE),), ZERO)])


Rank = Callable[[_Ranks], Scalar]


def _share(part: Scalar, whole: Scalar) -> Scalar:
    return call("/", [Cast(FLOAT8, part), Cast(FLOAT8, whole)])


def _hypothetical(name: str, summary: str) -> Callable[[Rank], Rank]:
    """Registers what `name(values) WITHIN GROUP (ORDER BY ...)` is, made of the counts."""

    def register(rank: Rank) -> Rank:
        def bind(direct: tuple[Scalar, ...], order: tuple[SortKey, ...], block: Block, position: int | None) -> Scalar:
            return _bind(name, rank, direct, order, block, position)

        syntax(f"{name} within group", form=f"{name}(a) WITHIN GROUP (ORDER BY b)", summary=summary)(bind)
        return rank

    return register


@_hypothetical("rank", "The rank, with gaps, that a row with this value would have.")
def _rank(ranks: _Ranks) -> Scalar:
    return call("+", [ranks.before(), ONE])


@_hypothetical("dense_rank", "The rank, without gaps, that a row with this value would have.")
def _dense_rank(ranks: _Ranks) -> Scalar:
    return call("+", [ranks.values_before(), ONE])


@_hypothetical("percent_rank", "The relative rank that a row with this value would have.")
def _percent_rank(ranks: _Ranks) -> Scalar:
    rows = ranks.rows()
    some = Call(BOOL, ">(any, any)", (rows, ZERO))
    return Case(FLOAT8, ((some, _share(ranks.before(), rows)),), Constant(FLOAT8, 0.0))


@_hypothetical("cume_dist", "The share of rows at or before a row with this value, itself among them.")
def _cume_dist(ranks: _Ranks) -> Scalar:
    return _share(call("+", [ranks.before(True), ONE]), call("+", [ranks.rows(), ONE]))
