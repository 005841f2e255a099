"""Encoded pairs of name and value, some of them for each row, as columns. Knows no protocol."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from ingest.encoded_texts import TextHeaders, texts_of
from ingest.sparse_column import Sparse, rows_by

V = TypeVar("V")

# Name and value of an encoded pair.
PairOf = Callable[[bytes], tuple[str, V | None]]

# Field 1, length-delimited: the name of a pair.
_NAME_TAG: Final = 0x0A


def columns_of(encoded: Sequence[Sequence[bytes]], pair_of: PairOf[V], text_tags: bytes) -> dict[str, Sparse]:
    """The values of every name, in the order of first appearance; nulls are left out.

    `text_tags`: in which fields, one inside the other, a value that is a text stands behind the name.

    Senders write the same names in the same order again and again. So rows of equally many pairs are taken together,
    place by place: what stands at one place of all of them is nearly always of one name, and most of it repeats.
    A name that a row has twice keeps its first value.
    """
    columns: dict[str, Sparse] = {}
    first_seen: dict[str, tuple[int, int]] = {}
    for rows in rows_by(list(map(len, encoded))).values():
        for place, column in enumerate(zip(*map(encoded.__getitem__, rows), strict=True)):
            for key, given in _by_name(rows, column, pair_of, text_tags):
                known = columns.get(key)
                columns[key] = given if known is None else Sparse(known.rows + given.rows, known.values + given.values)
                first_seen[key] = min(first_seen.get(key, (given.rows[0], place)), (given.rows[0], place))
    return {key: columns[key] for key in sorted(columns, key=first_seen.__getitem__)}


def _by_name(
    rows: list[int], encoded: Sequence[bytes], pair_of: PairOf[V], text_tags: bytes
) -> Iterable[tuple[str, Sparse]]:
    """The values of one place by their names. `rows` is handed on where it stays whole."""
    distinct = list(dict.fromkeys(encoded))
    named = _texts_of_one_name(distinct, text_tags)
    if named is not None:
        return [(named[0], Sparse(rows, _spread(distinct, named[1], encoded)))]
    pairs = {each: pair_of(each) for each in distinct}
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


def _texts_of_one_name(encoded: Sequence[bytes], text_tags: bytes) -> tuple[str, list[str]] | None:
    """The name that all these pairs have, and their texts, a fifth of the cost of one by one; None: read them so."""
    first = encoded[0]
    if len(first) < 2 or first[0] != _NAME_TAG or first[1] > 0x7F:
        return None
    start = first[: 2 + first[1]]
    texts = texts_of(encoded, TextHeaders(start, text_tags))
    try:
        return None if texts is None else (start[2:].decode(), texts)
    except UnicodeDecodeError:
        return None


def _spread(distinct: Sequence[bytes], texts: list[str], encoded: Sequence[bytes]) -> list[str]:
    if len(distinct) == len(encoded):
        return texts
    text_of = dict(zip(distinct, texts, strict=True))
    return list(map(text_of.__getitem__, encoded))
