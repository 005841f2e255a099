"""What files and segments call a column whose name an event chose. Pure.

Libraries read `*`, `^a$` and the like as patterns, and two columns of one name, the first of which was dropped, may
be in files of one dataset. So a column has a name of ours wherever it is stored, and the one that it was sent under
only where people see it (docs/storage.md).
"""

import re
from collections.abc import Container
from typing import Final

# Letters, digits and what separates them in the names of OpenTelemetry, Prometheus and JSON. None of it means anything
# to Polars, and `~`, which marks the names that we make, is not among it.
_PLAIN: Final = re.compile(r"\w[\w .:/@-]{0,99}")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_]+")
# This much of the sent name lets a person recognize the column.
_KEPT_CHARACTERS: Final = 32


def is_plain(name: str) -> bool:
    """Whether a column can be stored under the name that it was sent under.

    >>> is_plain("http.route"), is_plain("*"), is_plain("")
    (True, False, False)
    """
    return _PLAIN.fullmatch(name) is not None


def stored_name(name: str, number: int, names: Container[str]) -> str:
    """The name under which column `number` of a dataset is stored; `taken` are those of all it has or had.

    >>> stored_name("level", 4, ()), stored_name("level", 9, ["level"]), stored_name("^.*$", 5, ())
    ('level', 'level~9', '~5')
    """
    if is_plain(name) and name not in names:
        return name
    return f"{_OTHER.sub('_', name[:_KEPT_CHARACTERS]).strip('_')}~{number}"
