"""Unix nanoseconds, an unsigned 64-bit number on the wire, as timestamps. Zero means unknown."""

from collections.abc import Sequence
from typing import Final

import polars as pl

# 2262-04-11: the last instant a 64-bit nanosecond timestamp can hold.
LAST: Final = 2**63 - 1


def timestamps(values: Sequence[int | None]) -> pl.Series:
    """Nanosecond timestamps, null for zero, for None and for what lies beyond 2262."""
    if all(values) and max(values, default=1) <= LAST:  # type: ignore[type-var, operator]  # none of them is None
        return pl.Series(values, dtype=pl.Int64).cast(pl.Datetime("ns", "UTC"))
    numbers = pl.Series(values, dtype=pl.UInt64)
    usable = (numbers > 0) & (numbers <= LAST)
    return numbers.zip_with(usable, _nulls(len(numbers), pl.UInt64())).cast(pl.Int64).cast(pl.Datetime("ns", "UTC"))


def _nulls(height: int, dtype: pl.DataType) -> pl.Series:
    return pl.Series([None], dtype=dtype).new_from_index(0, height)


def texts(values: Sequence[int | None]) -> list[str | None]:
    """RFC 3339 in UTC with nine fraction digits, for times inside JSON; decimal text beyond 2262.

    >>> texts([1, 0])
    ['1970-01-01T00:00:00.000000001Z', None]
    """
    written: list[str | None] = timestamps(values).dt.strftime("%Y-%m-%dT%H:%M:%S%.9fZ").to_list()
    return [str(value) if value and value > LAST else text for value, text in zip(values, written, strict=True)]
