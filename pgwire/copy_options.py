"""The options of COPY ... TO STDOUT, as PostgreSQL reads them. Pure."""

from dataclasses import replace
from typing import Any, Final

from pgwire.errors import PgError, unsupported
from pgwire.syntax_tree import Node, constant
from query.results.options import Copy

FORMATS: Final = ("text", "csv", "binary")


def read(options: list[Node]) -> Copy:
    """Raises PgError."""
    given = {each["DefElem"]["defname"]: each["DefElem"].get("arg") for each in options}
    format_name = _text(given.pop("format", None)) or "text"
    if format_name not in FORMATS:
        raise PgError("22023", f'COPY format "{format_name}" not recognized')
    is_csv = format_name == "csv"
    copy = Copy(format_name, delimiter=",", null="") if is_csv else Copy(format_name)
    for name, argument in given.items():
        copy = _with(copy, name, argument, is_csv)
    for name in ("delimiter", "quote", "escape"):
        character = getattr(copy, name)
        if len(character.encode()) != 1 or character in "\r\n\\":
            raise PgError("0A000", f"COPY {name} must be a single one-byte character")
    if is_csv and copy.delimiter == copy.quote:
        raise PgError("22023", "COPY delimiter and quote must be different")
    return copy


def _with(copy: Copy, name: str, argument: Any, is_csv: bool) -> Copy:
    if copy.format == "binary" and name != "encoding":
        raise PgError("42601", f"cannot specify {name.upper()} in BINARY mode")
    if name in ("quote", "escape", "force_quote") and not is_csv:
        raise PgError("0A000", f"COPY {name} available only in CSV mode")
    match name:
        case "header":
            return replace(copy, header=argument is None or _text(argument) in ("on", "true", "1"))
        case "delimiter":
            return replace(copy, delimiter=_text(argument))
        case "null":
            return replace(copy, null=_text(argument))
        case "quote":
            quote = _text(argument)
            return replace(copy, quote=quote, escape=quote if copy.escape == copy.quote else copy.escape)
        case "escape":
            return replace(copy, escape=_text(argument))
        case "force_quote":
            return replace(copy, quoted=_names(argument))
        case "encoding":
            if _text(argument).upper().replace("-", "").replace("_", "") not in ("UTF8", "UNICODE"):
                raise unsupported("another encoding of COPY than UTF8")
            return copy
        case _:
            raise unsupported(f"COPY option {name.upper()}")


def _text(argument: Any) -> str:
    if argument is None:
        return ""
    for kind, member in (("String", "sval"), ("Integer", "ival"), ("Boolean", "boolval"), ("Float", "fval")):
        if kind in argument:
            value = argument[kind].get(member, 0 if kind == "Integer" else "")
            return str(value).lower() if isinstance(value, bool) else str(value)
    return constant(argument) or ""


def _names(argument: Any) -> tuple[str, ...]:
    if "A_Star" in argument:
        return ("*",)
    return tuple(each["String"]["sval"] for each in argument["List"]["items"])
