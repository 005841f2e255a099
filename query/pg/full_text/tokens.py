"""Texts -> tokens, as PostgreSQL's default parser cuts them.

Source: PostgreSQL documentation, "Parsers" (12.5) for the kinds; where that says less than the parser does (what a host
is, what may follow a slash), its behaviour, which tests compare with random texts. As in a database whose character
type is C, every character beyond ASCII is a letter.

Several kinds may begin at one place. They are tried in an order, and the first that is whole is the token.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from query.pg.full_text.tags import Tags

_LETTER: Final = r"[A-Za-z\x80-\U0010ffff]"
_ALNUM: Final = r"[A-Za-z0-9\x80-\U0010ffff]"

_BLANK: Final = re.compile(rf".(?:(?![<&/+-])(?!{_ALNUM}).)*+", re.DOTALL)
_IGNORED: Final = re.compile(r".[^<]*+", re.DOTALL)
_ASCII_WORD: Final = re.compile(r"[A-Za-z]++")
_WORD: Final = re.compile(rf"{_LETTER}++")
_NUMBER_WORD: Final = re.compile(rf"{_ALNUM}++")
_DIGITS: Final = re.compile(r"[0-9]++")
_FRACTION: Final = re.compile(r"\.[0-9]++")
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]++")
_VERSION: Final = re.compile(r"(?:\.[0-9]++)++")
_SIGNED: Final = re.compile(r"[+-][0-9]++")
_ENTITY: Final = re.compile(rf"&(?:#[xX][0-9a-fA-F]++|#[0-9]++|[A-Za-z:_](?:{_ALNUM}|[:_.-])*+);")
_FURTHER_PARTS: Final = re.compile(rf"(?:-(?:{_LETTER}|[0-9]++{_LETTER}){_ALNUM}*+)++")
_PART: Final = re.compile(rf"(?:{_LETTER}|[0-9]++{_LETTER}){_ALNUM}*+")
_HYPHEN: Final = re.compile(rf"-(?={_ALNUM})")
_HOST_LETTERS: Final = re.compile(r"[A-Za-z0-9]*+")
_DOMAIN_LETTERS: Final = re.compile(r"[A-Za-z]*+")
_JOINTS: Final = {".": "domain", "-": "part", "_": "part"}
"""What joins the parts of a host, and what may stand behind it."""
_PORT: Final = re.compile(r":[0-9]++")
_FILE: Final = re.compile(r"[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*+)*+")
_FILE_LETTER: Final = re.compile(r"[A-Za-z0-9_]")
_URL_PATH: Final = re.compile(r"""/[!#-;=?-[\]_a-z~]++""")

End = tuple[int, str] | None
"""Where a token ends, and its kind."""


@dataclass(frozen=True, slots=True)
class Token:
    """`text[start:end]`; `kind` is an alias of ts_token_type()."""

    kind: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """All tokens of a text, blanks too; parts of a compound follow it.

    >>> [(token.kind, token.start, token.end) for token in tokens("/items a-b")][:4]
    [('file', 0, 6), ('blank', 6, 7), ('asciihword', 7, 10), ('hword_asciipart', 7, 8)]
    """
    return _Parser(text).tokens()


class _Parser:
    """`stops_at_host`: a host is wanted, of an address of mail, whatever may follow it."""

    def __init__(self, text: str, stops_at_host: bool = False) -> None:
        self._text, self._stops_at_host = text, stops_at_host
        self._tags = Tags(text)
        self._host_end = 0

    def tokens(self) -> Iterator[Token]:
        start = 0
        while start < len(self._text):
            end, kind = self.token(start)
            if self._tags.is_cut:
                return
            yield Token(kind, start, end)
            if kind == "url":
                yield Token("host", start, self._host_end)
                end = _end(_URL_PATH, self._text, self._host_end)
                yield Token("url_path", self._host_end, end)
            elif kind in ("asciihword", "hword", "numhword"):
                end = start
                for part in self._parts(start):
                    yield part
                    end = part.end
            start = end

    def _parts(self, start: int) -> Iterator[Token]:
        """The parts of a compound, and the hyphens between them; also what follows the compound in the same way."""
        while True:
            part, hyphen = _PART.match(self._text, start), _HYPHEN.match(self._text, start)
            if part is not None:
                yield Token(_part_kind(part[0]), start, part.end())
                start = part.end()
            elif hyphen is not None:
                yield Token("blank", start, hyphen.end())
                start = hyphen.end()
            else:
                return

    def token(self, start: int) -> tuple[int, str]:
        """The end and the kind of the token that begins here."""
        letter, found = self._text[start], None
        if letter == "<":
            end = self._tags.end(start)
            found = (end, "tag") if end is not None else None
        if found is None and self._tags.ignores:
            return _end(_IGNORED, self._text, start), "blank"
        if found is None and letter >= "\x80":
            return self._word(start, start)
        if found is None and letter.isalpha():
            return self._ascii_word(start)
        if found is None and letter.isdigit():
            return self._number(start)
        return found or self._sign(start, letter) or (_end(_BLANK, self._text, start), "blank")

    def _sign(self, start: int, letter: str) -> End:
        """What begins with a sign."""
        match letter:
            case "+" | "-":
                return self._signed(start)
            case "&":
                entity = _ENTITY.match(self._text, start)
                return (entity.end(), "entity") if entity else None
            case "~" | "/":
                return self._path(start + 1, letter)
            case ".":
                return self._path(start + 1, "..")
        return None

    # --- words -----------------------------------------------------------------------------------------------------

    def _ascii_word(self, start: int) -> tuple[int, str]:
        end = _end(_ASCII_WORD, self._text, start)
        following, found = self._at(end), None
        match following:
            case ".":
                found = self._host(end + 1, "domain") or self._file_name(end)
            case "-" | "_":
                found = self._host(end + 1, "part") or self._compound(start, end)
            case "@":
                found = self._email(end + 1)
            case ":":
                found = (end + 3, "protocol") if self._text.startswith("://", end) else None
            case "/":
                found = self._path(end + 1, "/")
            case _ if "0" <= following <= "9":
                return self._host(end + 1, "letters") or self._number_word(start, end)
            case _ if following >= "\x80":
                return self._word(start, end)
        return found or (end, "asciiword")

    def _word(self, start: int, end: int) -> tuple[int, str]:
        end = _end(_WORD, self._text, end)
        if "0" <= self._at(end) <= "9":
            return self._number_word(start, end)
        return self._compound(start, end) or (end, "word")

    def _number_word(self, start: int, end: int) -> tuple[int, str]:
        end = _end(_NUMBER_WORD, self._text, end)
        found: End = None
        match self._at(end):
            case "@":
                found = self._email(end + 1)
            case "/":
                found = self._path(end + 1, "/")
            case ".":
                found = self._file_name(end)
            case "-":
                found = self._compound(start, end)
        return found or (end, "numword")

    def _compound(self, start: int, end: int) -> End:
        """A word of several parts, of which the first ends here."""
        further = _FURTHER_PARTS.match(self._text, end)
        if further is None:
            return None
        kinds = {"hword_asciipart": "asciihword", "hword_part": "hword", "hword_numpart": "numhword"}
        return further.end(), kinds[_part_kind(self._text[start : further.end()].replace("-", ""))]

    # --- numbers ---------------------------------------------------------------------------------------------------

    def _number(self, start: int) -> tuple[int, str]:
        end = _end(_DIGITS, self._text, start)
        following, found = self._at(end), None
        if following == ".":
            found = self._host(end + 1, "domain") or self._decimal(end)
        elif following == "/":
            found = self._path(end + 1, "/")
        elif following in ("-", "_"):
            found = self._host(end + 1, "part")
        elif following == "@":
            found = self._email(end + 1)
        elif following and (following >= "\x80" or following.isalpha()):
            return self._exponent(end) or self._host_of_number(end) or self._number_word(start, end)
        return found or (end, "uint")

    def _host_of_number(self, end: int) -> End:
        return self._host(end + 1, "letters") if self._text[end] < "\x80" else None

    def _decimal(self, end: int) -> End:
        """The number with what stands from its point on."""
        fraction = _FRACTION.match(self._text, end)
        if fraction is None:
            return None
        version = _VERSION.match(self._text, fraction.end())
        if version is not None:
            return version.end(), "version"
        return self._exponent(fraction.end()) or (fraction.end(), "float")

    def _exponent(self, end: int) -> End:
        exponent = _EXPONENT.match(self._text, end)
        return (exponent.end(), "sfloat") if exponent else None

    def _signed(self, start: int) -> End:
        """A number with its sign; before a version the sign is none."""
        number = _SIGNED.match(self._text, start)
        if number is None:
            return None
        found = self._decimal(number.end())
        if found is not None and found[1] == "version":
            return start + 1, "blank"
        return found or self._exponent(number.end()) or (number.end(), "int")

    # --- hosts -----------------------------------------------------------------------------------------------------

    def _host(self, at: int, state: str) -> End:
        """The host, URL or address of mail whose first part ends before `at`.

        `state` tells what may stand there: a `part` behind a hyphen, a `domain` behind a point, further `letters` of a
        part. A host ends with a domain of two letters or more, so what follows one need not belong to it.
        """
        latest: End = None
        while (part := self._host_part(at, state)) is not None:
            at, is_domain = part
            letter = self._at(at)
            if "0" <= letter <= "9":
                at, state = at + 1, "letters"
                continue
            if is_domain:
                latest = at, "host"
            if letter == "@":
                return self._email(at + 1) or latest
            if letter not in _JOINTS:
                return self._whole_host(at) if is_domain else latest
            at, state = at + 1, _JOINTS[letter]
        return latest

    def _host_part(self, at: int, state: str) -> tuple[int, bool] | None:
        """Where the letters of a part end, and whether they are a domain of two letters or more."""
        if state == "letters":
            return _end(_HOST_LETTERS, self._text, at), False
        first = self._at(at)
        if not first.isascii() or not first.isalnum():
            return None
        if state == "domain" and first.isalpha():
            end = _end(_DOMAIN_LETTERS, self._text, at + 1)
            return end, end > at + 1
        return _end(_HOST_LETTERS, self._text, at + 1), False

    def _whole_host(self, end: int) -> tuple[int, str]:
        """The host that ends here, with its port; a URL if a path follows."""
        port = _PORT.match(self._text, end)
        end = port.end() if port else end
        if self._stops_at_host or self._at(end) != "/" or end + 1 == len(self._text):
            return end, "host"
        path = _URL_PATH.match(self._text, end)
        if path is not None:
            self._host_end = end
            return path.end(), "url"
        rest, kind = _Parser(self._text).token(end + 1)
        if kind != "file":
            return end, "host"
        self._host_end = end
        return rest, "url"

    def _email(self, start: int) -> End:
        if self._stops_at_host:
            self._stops_at_host = False
            return None
        if start == len(self._text):
            return None
        end, kind = _Parser(self._text, stops_at_host=True).token(start)
        return (end, "email") if kind == "host" else None

    # --- paths -----------------------------------------------------------------------------------------------------

    def _path(self, at: int, before: str) -> End:
        """The path whose part begins at `at`, behind a slash, a `~`, or a point at its beginning (`..`)."""
        latest: End = None
        while True:
            found = self._begin(at, before)
            if found is None or isinstance(found, tuple):
                return found or latest
            at = _end(_FILE, self._text, found)
            latest = at, "file"
            if self._at(at) != "/":
                return latest
            at, before = at + 1, "/"

    def _begin(self, at: int, before: str) -> int | End:
        """Where the name of a file begins, behind points and slashes; or the whole path, if it has no name."""
        while True:
            letter = self._at(at)
            if before != ".." and _FILE_LETTER.match(letter):
                return at
            match before, letter:
                case ("/", "~") | ("~" | "." | "..", "/") | ("/", "."):
                    at, before = at + 1, letter
                case ("." | "..", "."):
                    return self._two_points(at + 1)
                case _:
                    return None

    def _two_points(self, at: int) -> int | End:
        """What follows `..` in a path."""
        if self._at(at) == "/":
            return self._begin(at + 1, "/") or (at, "file")
        return (at, "file") if self._at(at) in ("", *" \t\n\v\f\r") else None

    def _file_name(self, at: int) -> End:
        """The file whose name goes on with the point here."""
        if not _FILE_LETTER.match(self._at(at + 1)):
            return None
        end = _end(_FILE, self._text, at)
        return (self._path(end + 1, "/") if self._at(end) == "/" else None) or (end, "file")

    def _at(self, at: int) -> str:
        return self._text[at : at + 1]


def _end(pattern: "re.Pattern[str]", text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _part_kind(part: str) -> str:
    if any("0" <= letter <= "9" for letter in part):
        return "hword_numpart"
    return "hword_asciipart" if part.isascii() else "hword_part"
