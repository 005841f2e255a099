"""Tags and comments of HTML and XML within a text, and whether a script or a style follows, which is skipped."""

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9\x80-\U0010ffff:_.-]*+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9=_#/:.&?%~-]*+")
_OPENING: Final = re.compile(r"</[A-Za-z]|<[A-Za-z:_]")
_DECLARATION: Final = re.compile(r"<!(?=[Dd])|<\?(?=x)")
_SPACES: Final = " \t\n\v\f\r"


class Tags:
    """The tags of one text. `ignores` holds behind `<script` and `<style`, until the closing tag; `is_cut` if the text
    ends with an escaped character within quotes, where PostgreSQL's parser ends, too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.ignores = self.is_cut = False

    def end(self, start: int) -> int | None:
        """Where the tag that begins here ends; None if there is none."""
        if self._text.startswith("<!--", start):
            end = self._text.find("-->", start + 4)
            return None if end < 0 else end + 3
        opening = _OPENING.match(self._text, start)
        if opening is not None:
            return self._after_name(start, opening.end())
        declaration = _DECLARATION.match(self._text, start)
        return self._attributes(start, declaration.end() + 1) if declaration else None

    def _after_name(self, start: int, at: int) -> int | None:
        name = _NAME.match(self._text, at)
        at = name.end() if name else at
        if self._text.startswith("/>", at):
            return at + 2
        return (
            self._attributes(start, at) if self._text[at : at + 1] in (*_SPACES, ">") and at < len(self._text) else None
        )

    def _attributes(self, start: int, at: int) -> int | None:
        while at < len(self._text):
            letter = self._text[at]
            plain = _PLAIN.match(self._text, at)
            if letter in _SPACES or letter == ">":
                self._note(self._text[start:at])
                at += 1
                if letter == ">":
                    return at
            elif letter in "'\"":
                quoted = self._quoted(at + 1, letter)
                if quoted is None:
                    return None
                at = quoted
            elif plain is not None and plain.end() > at:
                at = plain.end()
            else:
                return None
        return None

    def _quoted(self, at: int, quote: str) -> int | None:
        """Behind the closing quote. A backslash right behind an escaped character escapes nothing."""
        is_escaped = False
        while at < len(self._text):
            letter = self._text[at]
            if letter == "\\" and not is_escaped and at + 1 < len(self._text):
                at, is_escaped = at + 2, True
                self.is_cut = at == len(self._text)
                continue
            if letter == quote:
                return at + 1
            at, is_escaped = at + 1, False
        return None

    def _note(self, head: str) -> None:
        """What the beginning of a tag says of the text behind it."""
        match head.lower():
            case "<script" | "<style":
                self.ignores = True
            case "</script" | "</style":
                self.ignores = False
