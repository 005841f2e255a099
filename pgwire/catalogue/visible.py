"""The tables that a set of rights sees, kept while nothing changes of what decides it.

Rights are the key, so other rights find nothing of theirs here. The version of the schemas is asked for at each
question, before the tables are looked up: what is kept is never older than that.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from models import column
from pgwire.catalogue.content import Tables

MOST_SETS: Final = 32


class VisibleTables:
    """What was looked up last for each set of rights, in one worker."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[str, Tables]] = OrderedDict()

    def of(self, tenant: str, rights: str, look_up: Callable[[], tuple[Tables, bool]]) -> Tables:
        """The tables. `look_up` tells with them whether they follow from rights and schemas alone."""
        version = column.schemas_version(tenant)
        known = self._known.get(rights)
        if known is not None and known[0] == version:
            self._known.move_to_end(rights)
            return known[1]
        tables, is_kept = look_up()
        if is_kept:
            self._known[rights] = version, tables
            if len(self._known) > MOST_SETS:
                self._known.popitem(last=False)
        return tables
