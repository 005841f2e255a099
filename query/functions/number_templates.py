"""Templates of numbers, as to_char and to_number read them.

Source: PostgreSQL documentation, "Data Type Formatting Functions", the template patterns for numbers; formatting.c,
parse_format and NUMDesc_prepare.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from query import fault
from query.pg.bad_values import BadLiteral

OWN_SIGNS: Final = ("MI", "PL", "SG")
"""Signs with a place of their own."""
_NO_PLACE_BESIDE: Final = {"B", "FM", "S", "PR", "RN", "V", *OWN_SIGNS}
"""What EEEE goes with no pattern of."""
_BESIDE_ROMAN: Final = {"RN", "FM", "9", ",", "G", "L", "TH", "SP", "C"}
_NAMES: Final = ("EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", *"BCDGLSV")
_TOKEN: Final = re.compile(
    r'"(?P<quoted>(?:\\.|[^"\\]|\\$)*)(?:"|$)|(?P<name>'
    + "|".join(map(re.escape, (*_NAMES, *map(str.lower, _NAMES), *",.09")))
    + r')|\\(?P<escaped>")|(?P<other>.)',
    re.DOTALL,
)


@dataclass(slots=True)
class NumberTemplate:
    """A template. `parts`: its patterns as they are written, each after its name in capital letters, and the texts
    between them after nothing. `whole`, `fraction`: digits before and after the point; `shift`: digits behind V."""

    parts: list[tuple[str, str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    whole: int = 0
    fraction: int = 0
    shift: int = 0
    first_zero: int | None = None
    last_zero: int = 0
    sign_behind: bool = False
    digits_before_sign: int = 0

    def add(self, name: str) -> None:
        """The next pattern. Raises 42601 for one that may not stand behind those before it."""
        self._require_fits(name)
        if name in "90":
            self._add_digit(name)
        elif name == "S":
            self.sign_behind = self.is_decimal
            self.digits_before_sign = self.whole
        if name != "B" or not (self.whole or self.fraction):
            self.names.add("." if name == "D" else name)

    @property
    def is_decimal(self) -> bool:
        """Whether it has a point."""
        return "." in self.names

    @property
    def is_trimmed(self) -> bool:
        """Whether it leaves out blanks, and zeros at the end."""
        return "FM" in self.names

    def _add_digit(self, name: str) -> None:
        if name == "9" and "V" in self.names:
            self.shift += 1
            return
        if name == "0" and self.first_zero is None and not self.is_decimal:
            self.first_zero = self.whole
        if self.is_decimal:
            self.fraction += 1
        else:
            self.whole += 1
        if name == "0":
            self.last_zero = self.whole + self.fraction

    def _require_fits(self, name: str) -> None:
        before = self.names
        if "EEEE" in before:
            raise _bad('cannot use "EEEE" twice' if name == "EEEE" else '"EEEE" must be the last pattern used')
        if name in "90" and "PR" in before:
            raise _bad(f'"{name}" must be ahead of "PR"')
        if name in ".D" and "." in before:
            raise _bad("multiple decimal points")
        if (name in ".D" and "V" in before) or (name == "V" and "." in before):
            raise _bad('cannot use "V" and decimal point together')
        if name == "RN" and "RN" in before:
            raise _bad('cannot use "RN" twice')
        if name == "EEEE" and before & _NO_PLACE_BESIDE:
            raise _bad('"EEEE" is incompatible with other formats')
        self._require_one_sign(name)

    def _require_one_sign(self, name: str) -> None:
        own = self.names.intersection((*OWN_SIGNS, "PR"))
        if name == "S" and ("S" in self.names or own):
            twice = "S" in self.names
            raise _bad('cannot use "S" twice' if twice else 'cannot use "S" and "PL"/"MI"/"SG"/"PR" together')
        if name in OWN_SIGNS and "S" in self.names:
            raise _bad(f'cannot use "S" and "{name}" together')
        if name == "PR" and ("S" in self.names or own - {"PR"}):
            raise _bad('cannot use "PR" and "S"/"PL"/"MI"/"SG" together')


def parse_number_template(text: str) -> NumberTemplate:
    """The template. Raises BadLiteral (42601).

    >>> parse_number_template('FM9,990.0" ms"').parts[-1]
    ('', ' ms')
    """
    template = NumberTemplate()
    for match in _TOKEN.finditer(text):
        name = (match["name"] or "").upper()
        if name:
            template.add(name)
        template.parts.append((name, match["name"] or _text(match)))
    if "RN" in template.names and not template.names <= _BESIDE_ROMAN:
        raise _bad('"RN" is incompatible with other formats')
    return template


def _text(match: re.Match[str]) -> str:
    quoted = match["quoted"]
    if quoted is None:
        return match["escaped"] or match["other"]
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def _bad(message: str) -> BadLiteral:
    return BadLiteral(fault.SYNTAX_ERROR, message)
