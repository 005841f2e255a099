"""Record batches of some columns, made of the messages of whole ones. Pure, over bytes; many messages at once.

The messages of record batches of one schema and one length are the rows of a matrix of numbers. A reader takes 2 to
3 us for each record batch, so small ones are put together: one column behind the other, without moving a row.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from storage.wal.batch_layout import UnknownLayout, Words, find_words
from storage.wal.batches import Buffer, columns_of
from storage.wal.column_checksums import arrays_of

Numbers = NDArray[np.int64]
# For each column the bytes that messages from one on to before another have of it.
ReadColumns = Callable[[int, int], Sequence[Sequence[bytes]]]

# So many bytes are put together at once, which stay in the processor's cache. Of more the fresh memory costs more.
PORTION_BYTES: Final = 256 * 1024
# Validity, values, and one of texts.
_MOST_BUFFERS: Final = 3
ALIGNMENT: Final = 64
# A view: the text's length, and of one that is longer than this its beginning, its buffer and where it is in that.
_LONGEST_INLINE: Final = 12
_VIEW_WORDS: Final = 4
_VIEW_LENGTH, _VIEW_OFFSET = 0, 3


class BatchMessages:
    """Messages of one schema and one length, a row each in all arrays.

    `starts`, `ends`: where the bytes of each column (in the schema's order) are in the body.
    """

    def __init__(self, schema: bytes, messages: Sequence[Buffer]) -> None:
        """Raises UnknownLayout."""
        buffers, views = _buffers_of(schema)
        self._schema = schema
        self._words: Numbers = np.frombuffer(b"".join(messages), "<i8").reshape(len(messages), -1)
        self._where = find_words(bytes(messages[0]))
        _require_alike(self._words, self._where)
        variadic = self._words[:, self._where.variadic]
        if variadic.shape[1] != len(views):
            raise UnknownLayout(f"{variadic.shape[1]} arrays of views, not {len(views)}")
        self._counts = buffers + variadic @ views
        self._firsts = np.cumsum(self._counts, axis=1) - self._counts
        self.starts, self.ends = self._extents()

    def _extents(self) -> tuple[Numbers, Numbers]:
        offsets, _ = self._buffers(slice(None))
        if (self._counts.sum(axis=1) != offsets.shape[1]).any():
            raise UnknownLayout("the buffers are not those of the columns")
        starts = np.take_along_axis(offsets, self._firsts, axis=1)
        bounds = np.column_stack((starts, self._words[:, self._where.body_bytes]))
        if starts[:, 0].any() or (np.diff(bounds, axis=1) < 0).any():
            raise UnknownLayout("the columns are not one behind the other")
        return starts, bounds[:, 1:]

    def _buffers(self, messages: slice) -> tuple[Numbers, Numbers]:
        """Where each buffer begins in the body, and how long it is."""
        buffers = self._words[messages, self._where.buffers]
        return buffers[:, ::2], buffers[:, 1::2]

    def batches(self, columns: Sequence[int], read: ReadColumns, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Batches with these columns only, each with the number of its first message; the numbers ascend.

        Neighbours with subsequent numbers may be put together. Batches still tell of the other columns, whose buffers
        are not there: a reader has to ask for these columns.
        """
        bounds = [*np.flatnonzero(self._is_first(columns, np.array(numbers))).tolist(), len(numbers)]
        # Most often all are put together, and none is needed.
        messages: list[bytes] = []
        for start, end in pairwise(bounds):
            data = read(start, end)
            if end - start > 1:
                yield numbers[start], self._joined(slice(start, end), columns, data)
            else:
                messages = messages or self._projected(columns)
                yield numbers[start], b"".join((messages[start], *(each[0] for each in data)))

    def _is_first(self, columns: Sequence[int], numbers: Numbers) -> NDArray[np.bool_]:
        """Of each message, whether its batch is not put together with the one before."""
        # Where a column's buffers begin depends on how many the texts of columns before it have.
        places = np.column_stack((self._counts[:, columns], self._firsts[:, columns]))
        can = self._can_be_joined(columns)
        portions = np.cumsum((self.ends - self.starts)[:, columns].sum(axis=1)) // PORTION_BYTES
        is_near = (np.diff(numbers) == 1) & (np.diff(portions) == 0)
        is_alike = (places[1:] == places[:-1]).all(axis=1)
        return np.concatenate(([True], ~(can[1:] & can[:-1] & is_near & is_alike)))

    def _can_be_joined(self, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Columns of one array each, without nulls, with one buffer of texts at most."""
        widths = _widths_of(self._schema)[columns]
        nulls = self._words[:, self._where.nodes][:, 1::2][:, _arrays_before(self._schema)[columns]]
        values = np.take_along_axis(self._buffers(slice(None))[1], self._firsts[:, columns] + 1, axis=1)
        is_plain = (nulls == 0) & (values == widths * self._words[:, self._where.rows]) & (widths > 0)
        can: NDArray[np.bool_] = np.all(is_plain & (self._counts[:, columns] <= _MOST_BUFFERS), axis=1)
        return can

    def _projected(self, columns: Sequence[int]) -> list[bytes]:
        """The messages for bodies that have the bytes of these columns only, ascending, one behind the other."""
        sizes = (self.ends - self.starts)[:, columns]
        moves = np.cumsum(sizes, axis=1) - sizes - self.starts[:, columns]
        words = self._words.copy()
        offsets = words[:, self._where.buffers][:, ::2]
        numbers = np.arange(offsets.shape[1])
        for place, column in enumerate(columns):
            first, count = self._firsts[:, column, None], self._counts[:, column, None]
            offsets += moves[:, place, None] * ((numbers >= first) & (numbers < first + count))
        words[:, self._where.body_bytes] = sizes.sum(axis=1, keepdims=True)
        return [row.tobytes() for row in words]

    def _joined(self, messages: slice, columns: Sequence[int], data: Sequence[Sequence[bytes]]) -> bytes:
        """One batch of the rows of those messages: the message of the first, with other numbers."""
        words = self._words[messages.start].copy()
        buffers = words[self._where.buffers]
        body: list[Buffer] = []
        at = 0
        for column, pieces in zip(columns, data, strict=True):
            first = int(self._firsts[messages.start, column])
            buffers[2 * first : 2 * first + 2] = at, 0
            for number, parts in enumerate(self._joined_buffers(messages, column, pieces), first + 1):
                size = sum(map(len, parts))
                buffers[2 * number : 2 * number + 2] = at, size
                body += [*parts, bytes(-size % ALIGNMENT)]
                at += size + -size % ALIGNMENT
        rows = self._words[messages, self._where.rows].sum()
        words[self._where.rows] = words[self._where.nodes][::2] = rows
        words[self._where.body_bytes] = at
        return b"".join((words.tobytes(), *body))

    def _joined_buffers(self, messages: slice, column: int, data: Sequence[bytes]) -> Iterator[Sequence[Buffer]]:
        """The values of a column, and its texts if there are some that no view holds, in pieces."""
        first, count = int(self._firsts[messages.start, column]), int(self._counts[messages.start, column])
        offsets, sizes = self._buffers(messages)
        begins = offsets[:, first : first + count] - self.starts[messages, column, None]
        pieces = [
            [each[at:end] for each, at, end in zip(data, begin.tolist(), (begin + size).tolist(), strict=True)]
            for begin, size in zip(begins.T[1:], sizes[:, first + 1 : first + count].T, strict=True)
        ]
        if len(pieces) > 1:
            rows = self._words[messages, self._where.rows][:, 0]
            pieces[0] = [_moved_views(pieces[0], rows, list(map(len, pieces[1])))]
        yield from pieces


def _moved_views(views: Sequence[bytes], rows: Numbers, text_bytes: Sequence[int]) -> bytes:
    """The views of batches with so many rows, when the buffers of their texts stand one behind the other."""
    words = np.frombuffer(bytearray().join(views), "<u4").reshape(-1, _VIEW_WORDS)
    moves = np.array(list(accumulate(text_bytes[:-1], initial=0)), dtype=np.uint32)
    words[:, _VIEW_OFFSET] += np.repeat(moves, rows) * (words[:, _VIEW_LENGTH] > _LONGEST_INLINE)
    return words.tobytes()


@lru_cache(maxsize=256)
def _buffers_of(schema: bytes) -> tuple[Numbers, Numbers]:
    """How many buffers each column has without those of texts, and a row for each array of views, 1 at its column."""
    arrays = arrays_of(schema)
    owners = [number for number, each in enumerate(arrays) for _ in range(each.views)]
    return np.array([each.buffers for each in arrays]), np.eye(len(arrays), dtype=np.int64)[owners]


@lru_cache(maxsize=256)
def _arrays_before(schema: bytes) -> Numbers:
    """How many arrays there are before each column."""
    arrays = _buffers_of(schema)[0] // 2
    return np.cumsum(arrays) - arrays


@lru_cache(maxsize=256)
def _widths_of(schema: bytes) -> Numbers:
    """Of each column the bytes of a value; 0 if they are no whole ones, or not in one array."""
    return np.array([_width(dtype) for dtype in columns_of(schema).values()])


def _width(dtype: pl.DataType) -> int:
    if isinstance(dtype, pl.Datetime):
        return 8
    return {pl.Int64(): 8, pl.Float64(): 8, pl.Date(): 4, pl.String(): 16}.get(dtype, 0)


def _require_alike(words: Numbers, where: Words) -> None:
    """Raise UnknownLayout unless all messages are the same but for their numbers."""
    is_fixed = np.ones(words.shape[1], dtype=bool)
    for each in where:
        is_fixed[each] = False
    if (words[:, is_fixed] != words[0, is_fixed]).any():
        raise UnknownLayout("messages of one length are laid out in two ways")
