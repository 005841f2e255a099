"""The names of a query's members: clients write them with other case, or with `_` (api.md section 1)."""

from collections.abc import Mapping
from typing import Final

from marshmallow import Schema

LONGEST_IGNORED: Final = 100
_UNPRINTABLE: Final = dict.fromkeys((*range(32), 127, ord(",")), "?")


class MemberNames:
    """The members of a schema, by all the ways of writing them."""

    def __init__(self, schema: Schema) -> None:
        self._names = {
            (field.data_key or name).lower(): field.data_key or name for name, field in schema.fields.items()
        }

    def known(self, body: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """The body's members under the schema's names, and the names that mean nothing, as a header can hold them.

        What is ignored is told to the client: a mistyped member must never change a number in silence.
        """
        members = {self.canonical(str(name)): value for name, value in body.items()}
        ignored = sorted(name for name in members if name not in self._names.values())
        return members, tuple(map(_printable, ignored))

    def canonical(self, name: str) -> str:
        """The schema's name for it, or the name itself."""
        return self._names.get(name.replace("_", "").lower(), name)


def _printable(name: str) -> str:
    return name[:LONGEST_IGNORED].encode("ascii", "backslashreplace").decode().translate(_UNPRINTABLE)
