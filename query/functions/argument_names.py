"""The names of arguments, for the functions of PostgreSQL that can be called by them: `make_date(year => 2024, ...)`.

Source: pg_proc.proargnames of PostgreSQL 18; a function that is not here has no names there either.
"""

from collections.abc import Mapping
from typing import Final

_PATTERN: Final = ("string", "pattern")
_DAY: Final = ("year", "month", "day")
_MOMENT: Final = ("year", "month", "mday", "hour", "min", "sec")

ARGUMENT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "make_date": _DAY,
    "make_time": ("hour", "min", "sec"),
    "make_timestamp": _MOMENT,
    "make_timestamptz": (*_MOMENT, "timezone"),
    "make_interval": ("years", "months", "weeks", "days", "hours", "mins", "secs"),
    "jsonb_set": ("jsonb_in", "path", "replacement", "create_if_missing"),
    **dict.fromkeys(("json_strip_nulls", "jsonb_strip_nulls"), ("target", "strip_in_arrays")),
    **dict.fromkeys(("regexp_match", "regexp_matches", "regexp_like"), (*_PATTERN, "flags")),
    "regexp_split_to_array": (*_PATTERN, "flags"),
    "regexp_replace": (*_PATTERN, "replacement", "start", "N", "flags"),
    "regexp_count": (*_PATTERN, "start", "flags"),
    "regexp_substr": (*_PATTERN, "start", "N", "flags", "subexpr"),
    "regexp_instr": (*_PATTERN, "start", "N", "endoption", "flags", "subexpr"),
}
SHORT_FORMS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "regexp_replace": ((*_PATTERN, "replacement", "flags"),),
}
"""Forms whose names are not the first ones of the longest form."""

DEFAULTS: Final[Mapping[str, int]] = {"make_interval": 0}
"""What an argument is that was left out, where any can be."""
