"""What every representation of a result has in common: column names, and PostgreSQL's text of a value."""

from collections.abc import Sequence
from typing import Final, Protocol

import polars as pl

US_PER_SECOND: Final = 1_000_000


class OutputColumn(Protocol):
    """A column of a result: its name, and its PostgreSQL type (`int8`, `numeric`, `jsonb`, `text[]`)."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, later ones of equal names with `_1`, `_2`, ... (api.md section 5).

    >>> unique_names(["a", "a", "a_1", "a"])
    ['a', 'a_2', 'a_1', 'a_3']
    """
    taken, seen, found = set(names), set[str](), []
    for name in names:
        candidate, number = name, 0
        while candidate in seen or (number and candidate in taken):
            number += 1
            candidate = f"{name}_{number}"
        seen.add(candidate)
        found.append(candidate)
    return found


def interval_text(value: pl.Expr) -> pl.Expr:
    """PostgreSQL's text of an interval held as months, days and microseconds: `1 mon -3 days +04:05:06.7`."""
    months, days, us = (value.struct.field(name).cast(pl.Int64) for name in ("months", "days", "us"))
    # Truncation, not floor: -14 months are -1 year and -2 mons.
    years = months.sign() * (months.abs() // 12)
    parts, negative = [], pl.lit(False)
    for amount, unit in ((years, "year"), (months - years * 12, "mon"), (days, "day")):
        sign = pl.when(negative & (amount > 0)).then(pl.lit("+")).otherwise(pl.lit(""))
        plural = pl.when(amount == 1).then(pl.lit("")).otherwise(pl.lit("s"))
        parts.append(pl.when(amount != 0).then(pl.format("{}{} " + unit + "{}", sign, amount, plural)))
        negative = pl.when(amount == 0).then(negative).otherwise(amount < 0)
    shown = (us != 0) | ((months == 0) & (days == 0))
    parts.append(pl.when(shown).then(_clock(us, negative)))
    return pl.when(value.is_not_null()).then(pl.concat_str(parts, separator=" ", ignore_nulls=True))


def _clock(us: pl.Expr, after_negative: pl.Expr) -> pl.Expr:
    sign = pl.when(us < 0).then(pl.lit("-")).when(after_negative).then(pl.lit("+")).otherwise(pl.lit(""))
    seconds = us.abs() // US_PER_SECOND
    two_digits = [part.cast(pl.String).str.zfill(2) for part in (seconds // 3600, seconds // 60 % 60, seconds % 60)]
    fraction = pl.format(".{}", (us.abs() % US_PER_SECOND).cast(pl.String).str.zfill(6)).str.strip_chars_end("0")
    return pl.format("{}{}:{}:{}{}", sign, *two_digits, fraction.str.strip_suffix("."))


def bytea_text(value: pl.Expr) -> pl.Expr:
    """PostgreSQL's hexadecimal text of a bytea: `\\x01ff`."""
    return pl.format("\\x{}", value.bin.encode("hex"))
