"""The range of times: what PostgreSQL has, and what of it our answers can show."""

from typing import Final

import polars as pl

from query.expr.call_context import CallContext
from query.pg.types import PgType

FIRST_US: Final = -62_135_596_800_000_000
LAST_US: Final = 253_402_300_800_000_000
"""Years 1 to 9999 in microseconds since 1970: what results can show. PostgreSQL reaches further."""

_FIRST_MOMENT: Final = -210_866_803_200_000_000
_LAST_MOMENT: Final = 9_224_318_016_000_000_000
"""PostgreSQL's timestamps in microseconds since 1970: from 4713 BC to the year 294276."""


def checked_moment(context: CallContext, wide: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A 128-bit number of micro- or nanoseconds as a time, or the error that PostgreSQL or only we have for it."""
    scale = 1000 if pg_type.unit == "ns" else 1
    first, last = (FIRST_US, LAST_US) if scale == 1 else (-(2**63), 2**63)
    moved = wide.cast(pl.Int64, strict=False).cast(pg_type.polars)
    never = _outside(wide, _FIRST_MOMENT * scale, _LAST_MOMENT * scale)
    return context.fail_where(
        context.fail_where(moved, never, "timestamp_range"), _outside(wide, first, last), "far_date"
    )


def shown_moment(context: CallContext, moment: pl.Expr, pg_type: PgType) -> pl.Expr:
    """A time that was moved a little, or a refusal beyond the years that answers show."""
    if pg_type.unit == "ns":
        return moment
    us = moment.to_physical()
    return context.fail_where(moment, (us < FIRST_US) | (us >= LAST_US), "far_date")


def _outside(wide: pl.Expr, first: int, last: int) -> pl.Expr:
    return (wide < pl.lit(first, dtype=pl.Int128)) | (wide >= pl.lit(last, dtype=pl.Int128))
