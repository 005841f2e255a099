"""What statements are expected to name, as far as others of the same shape have told. Only ever a guess: whoever acts
on it has the query process say whether it holds, and authorises what was guessed like anything else.
"""

import re
from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import Final

from query.process.messages import Names

# Statements of one shape differ in their texts and numbers alone: dashboards ask them again and again.
_LITERALS: Final = re.compile(r"'[^']*'|(?<![\w$.\"])\d[\d.]*")
LONGEST_CHARACTERS: Final = 4 * 1024
MOST_SHAPES: Final = 1024
DIGEST_BYTES: Final = 16


class StatementNames:
    """What the latest statements of each shape have named. Safe for threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._names: OrderedDict[bytes, Names] = OrderedDict()

    def expected(self, sql: str) -> Names | None:
        """What the statement names, probably; None: nobody has asked anything like it lately."""
        key = _shape(sql)
        with self._lock:
            if key in self._names:
                self._names.move_to_end(key)
            return self._names.get(key)

    def learn(self, sql: str, names: Names) -> None:
        """Expect this of statements of its shape from now on."""
        if len(sql) > LONGEST_CHARACTERS:
            return
        with self._lock:
            self._names[_shape(sql)] = names
            if len(self._names) > MOST_SHAPES:
                self._names.popitem(last=False)


def _shape(sql: str) -> bytes:
    text = _LITERALS.sub("?", sql[:LONGEST_CHARACTERS])
    return blake2b(text.encode("utf-8", "replace"), digest_size=DIGEST_BYTES).digest()
