"""What statements are expected to name, and expressions to read, as far as others like them have told.

Only ever a guess: whoever acts on it has the query process say whether it holds, and authorises what was guessed like
anything else.
"""

import re
from hashlib import blake2b
from typing import Final

from query.process.messages import Names
from query.process.metric_messages import Expression, Reach
from query.process.recent import Recent

# Statements of one shape differ in their texts and numbers alone: dashboards ask them again and again.
_LITERALS: Final = re.compile(r"'[^']*'|(?<![\w$.\"])\d[\d.]*")
# An instant of its own, or a subquery, whose steps are multiples of its resolution: what is read follows from the time.
_OTHER_TIMES: Final = re.compile(r"@|\[[^]]*:")
LONGEST_CHARACTERS: Final = 4 * 1024
MOST_SHAPES: Final = 1024
DIGEST_BYTES: Final = 16


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


class Reaches:
    """From when to when the latest expressions needed samples, relative to the times asked for. Safe for threads."""

    def __init__(self) -> None:
        self._reaches: Recent[bytes, Reach] = Recent(MOST_SHAPES)

    def expected(self, expression: Expression) -> Reach | None:
        """What the expression needs, probably; None: nobody has asked it lately."""
        found = self._reaches.get(_kind(expression))
        return None if found is None else found.moved(expression.start_ms, expression.end_ms)

    def learn(self, expression: Expression, reach: Reach) -> None:
        """Expect the same of the expression at other times."""
        if len(expression.text) <= LONGEST_CHARACTERS and not _OTHER_TIMES.search(expression.text):
            self._reaches.put(_kind(expression), reach.moved(-expression.start_ms, -expression.end_ms))


def _kind(expression: Expression) -> bytes:
    settings = expression.is_range, expression.lookback_ms, expression.experimental
    return _digest(f"{settings}{expression.text[:LONGEST_CHARACTERS]}")


def _shape(sql: str) -> bytes:
    return _digest(_LITERALS.sub("?", sql[:LONGEST_CHARACTERS]))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=DIGEST_BYTES).digest()
