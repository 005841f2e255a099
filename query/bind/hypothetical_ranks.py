"""Ranks of a row that is not there: `rank(100) WITHIN GROUP (ORDER BY latency)`, as counts of the rows before it.

Source: PostgreSQL documentation, "Hypothetical-Set Aggregate Functions".
"""

from collections.abc import Callable, Sequence
from typing import Final

from query import fault
from query.bind.block import GROUP_VALUE, Block
from query.bind.operators import comparison
from query.bind.type_resolution import call, coerce, common
from query.functions.registry import syntax
from query.pg.types import BOOL, FLOAT8, INT8, UNKNOWN, PgType
from query.plan.tree import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Constant,
    IsNull,
    Logic,
    Not,
    RowOf,
    Scalar,
    SortKey,
    truth,
)

ZERO: Final = Constant(INT8, 0)
ONE: Final = Constant(INT8, 1)


def _bind(
    name: str, rank: "Rank", direct: tuple[Scalar, ...], order: tuple[SortKey, ...], block: Block, position: int | None
) -> Scalar:
    """The value of the aggregate."""
    if len(direct) != len(order):
        message = f"function {name} does not exist with these arguments"
        hint = "The number of direct arguments must match the number of ordering columns."
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position, hint)
    pairs = tuple((key, _of_group(key, value, position)) for key, value in zip(order, direct, strict=True))
    return rank(_Ranks(pairs, block, position))


def _of_group(key: SortKey, value: Scalar, position: int | None) -> Scalar:
    """A direct argument in the type of its ordering value; of columns it is the group's, which a grouping set that
    leaves them out has as NULL."""
    if value.type.name == UNKNOWN.name:
        value = coerce(value, key.value.type, position)
    common([key.value.type, value.type], "WITHIN GROUP", position)
    return value if isinstance(value, Constant) else Call(value.type, GROUP_VALUE, (value,))


class _Ranks:
    """The counts of which the ranks are made."""

    def __init__(self, pairs: Sequence[tuple[SortKey, Scalar]], block: Block, position: int | None) -> None:
        self._pairs, self._block, self._position = pairs, block, position

    def _is_before(self, key: SortKey, value: Scalar) -> Scalar:
        """Rows whose ordering value comes before the given one: NULLs before or after all others."""
        smaller = comparison(">" if key.descending else "<", key.value, value, self._position)
        row_is_null, given_is_null = IsNull(BOOL, key.value), IsNull(BOOL, value)
        if isinstance(value, Constant) and value.value is not None:
            return Logic(BOOL, "or", (smaller, row_is_null)) if key.nulls_first else smaller
        if key.nulls_first:
            return Logic(BOOL, "or", (smaller, Logic(BOOL, "and", (row_is_null, Not(BOOL, given_is_null)))))
        return Logic(BOOL, "or", (smaller, Logic(BOOL, "and", (given_is_null, Not(BOOL, row_is_null)))))

    def _is_peer(self, key: SortKey, value: Scalar) -> Scalar:
        equal = comparison("=", key.value, value, self._position)
        if isinstance(value, Constant) and value.value is not None:
            return equal
        both = Logic(BOOL, "and", (IsNull(BOOL, key.value), IsNull(BOOL, value)))
        return Logic(BOOL, "or", (equal, both))

    def _before(self, with_peers: bool) -> Scalar:
        """Rows before by the first ordering value that tells them apart."""
        rest: Scalar | None = None
        for key, value in reversed(self._pairs):
            before, peer = self._is_before(key, value), self._is_peer(key, value)
            if rest is not None:
                before = Logic(BOOL, "or", (before, Logic(BOOL, "and", (peer, rest))))
            elif with_peers:
                before = Logic(BOOL, "or", (before, peer))
            rest = before
        return rest or truth(with_peers)

    def _rows(self, where: Scalar | None) -> Scalar:
        return self._block.aggregate(AggregateCall(INT8, "count", (), where=where, position=self._position))

    def rows(self) -> Scalar:
        return self._rows(None)

    def before(self, with_peers: bool = False) -> Scalar:
        """Rows before the one that is not there, and those equal to it."""
        return self._rows(self._before(with_peers))

    def values_before(self) -> Scalar:
        """Different ordering values before it; NULL is one of them."""
        where = self._before(False)
        keys = tuple(key.value for key, _ in self._pairs)
        counted = keys[0] if len(keys) == 1 else RowOf(_record(keys), keys)
        different = self._block.aggregate(
            AggregateCall(INT8, "count", (counted,), distinct=True, where=where, position=self._position)
        )
        if len(keys) > 1:
            return different
        nulls = self._rows(Logic(BOOL, "and", (where, IsNull(BOOL, keys[0]))))
        some = Call(BOOL, ">(any, any)", (nulls, ZERO))
        return call("+", [different, Case(INT8, ((some, ONE),), ZERO)])


def _record(values: Sequence[Scalar]) -> PgType:
    return PgType("record", fields=tuple(value.type for value in values))


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
