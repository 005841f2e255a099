"""What statements are expected to name, as far as others like them have told.

Only ever a guess: whoever acts on it has the query process say whether it holds, and authorises what was guessed like
anything else.
"""

import re
from typing import Final

from query.process.messages import Names
from query.process.recent import LONGEST_CHARACTERS, Recent, digest

# Statements of one shape differ in their texts and numbers alone: dashboards ask them again and again.
_LITERALS: Final = re.compile(r"'[^']*'|(?<![\w$.\"])\d[\d.]*")
MOST_SHAPES: Final = 1024


class StatementNames:
    """What the latest statements of each shape have named. Safe for threads."""

    def __init__(self) -> None:
        self._names: Recent[bytes, Names] = Recent(MOST_SHAPES)

    def expected(self, sql: str) -> Names | None:
        """What the statement names, probably; None: nobody has asked anything like it lately."""
        return self._names.get(_shape(sql))

    def learn(self, sql: str, names: Names) -> None:
        """Expect this of statements of its shape from now on."""
        if len(sql) <= LONGEST_CHARACTERS:
            self._names.put(_shape(sql), names)


def _shape(sql: str) -> bytes:
    return digest(_LITERALS.sub("?", sql[:LONGEST_CHARACTERS]))
