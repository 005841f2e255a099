"""The escapes of U&'...' literals. Source: PostgreSQL documentation, "String Constants with Unicode Escapes"."""

import re


def unescape(text: str, escape: str) -> str:
    """The text with its escapes resolved. Raises UnicodeError for one that is none.

    >>> unescape("d!0061t!+000061!!", "!")
    'data!'
    """
    sign = re.escape(escape)
    if len(escape) != 1 or re.match(r"[0-9a-fA-F+'\"\s]", escape):
        raise UnicodeError(escape)
    parts = re.split(rf"({sign}{sign}|{sign}[0-9a-fA-F]{{4}}|{sign}\+[0-9a-fA-F]{{6}})", text)
    if any(escape in plain for plain in parts[::2]):
        raise UnicodeError(text)
    parts[1::2] = [escape if part == escape * 2 else _character(part[1:].lstrip("+")) for part in parts[1::2]]
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16")


def _character(digits: str) -> str:
    code = int(digits, 16)
    if not 0 < code <= 0x10FFFF:
        raise UnicodeError(digits)
    return chr(code)
