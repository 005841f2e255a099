"""Encoded pairs of name and value, some of them for each row, as columns. Knows no protocol."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ingest.sparse_column import Sparse

V = TypeVar("V")

# Name and value of an encoded pair.
PairOf = Callable[[bytes], tuple[str, V | None]]


def columns_of(encoded: Sequence[Sequence[bytes]], pair_of: PairOf[V]) -> dict[str, Sparse]:
    """The values of every name, in the order of first appearance; nulls are left out.

    Senders write the same names in the same order again and again. So rows of equally many pairs are taken together,
    place by place: what stands at one place of all of them is nearly always of one name, and most of it repeats.
    A name that a row has twice keeps its first value.
    """
    rows_of: dict[int, list[int]] = {}
    for row, count in enumerate(map(len, encoded)):
        rows_of.setdefault(count, []).append(row)
    columns: dict[str, Sparse] = {}
    first_seen: dict[str, tuple[int, int]] = {}
    for rows in rows_of.values():
        for place, column in enumerate(zip(*map(encoded.__getitem__, rows), strict=True)):
            for key, given in _by_name(rows, column, pair_of):
                known = columns.get(key)
                columns[key] = given if known is None else Sparse(known.rows + given.rows, known.values + given.values)
                first_seen[key] = min(first_seen.get(key, (given.rows[0], place)), (given.rows[0], place))
    return {key: columns[key] for key in sorted(columns, key=first_seen.__getitem__)}


def _by_name(rows: list[int], encoded: Sequence[bytes], pair_of: PairOf[V]) -> Iterable[tuple[str, Sparse]]:
    """The values of one place by their names. `rows` is handed on where it stays whole."""
    pairs = {each: pair_of(each) for each in dict.fromkeys(encoded)}
    names = dict.fromkeys(key for key, _ in pairs.values())
    if len(names) == 1 and all(value is not None for _, value in pairs.values()):
        value_of = {each: value for each, (_, value) in pairs.items()}
        return [(key, Sparse(rows, list(map(value_of.__getitem__, encoded)))) for key in names]
    columns: dict[str, Sparse] = {}
    for row, each in zip(rows, encoded, strict=True):
        key, value = pairs[each]
        if value is not None:
            column = columns.setdefault(key, Sparse())
            column.rows.append(row)
            column.values.append(value)
    return columns.items()
