"""PostgreSQL's own syntax trees of statements, by its own parser (libpg_query): what a statement is, and what it names.

The tree decides where a statement goes; its text is what runs. Knows no datasets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pgparse

# Longer ones are refused by the engine as well (query/limits.py), and this parser runs in a web worker.
LONGEST_CHARACTERS: Final = 100_000
Node = Mapping[str, Any]


class NotParsed(Exception):
    """PostgreSQL's grammar does not have it: nonsense, or an extension of ours."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a text: its own text, where that begins in characters, and its tree.

    `kind` is the name of the tree's top node, as `SelectStmt`; "" of what PostgreSQL does not parse.
    """

    sql: str
    start: int
    kind: str
    node: Node


def split(text: str) -> list[Statement]:
    """The statements of a text, in order. Raises NotParsed."""
    if len(text) > LONGEST_CHARACTERS:
        raise NotParsed("the statement is too long")
    try:
        parsed = pgparse.parse(text)
    except (pgparse.PGQueryError, RecursionError) as error:
        raise NotParsed(str(error)) from error
    raw = text.encode()
    return [_statement(each, raw) for each in parsed]


def _statement(parsed: Node, raw: bytes) -> Statement:
    """Places in the tree count bytes."""
    start = int(parsed.get("stmt_location", 0))
    length = int(parsed.get("stmt_len", 0)) or len(raw) - start
    kind, node = next(iter(parsed["stmt"].items()))
    own = raw[start : start + length].decode()
    before = len(raw[:start].decode()) + len(own) - len(own.lstrip())
    return Statement(own.strip(), before, kind, node)


@dataclass(slots=True)
class Names:
    """What a query names. `relations` are schema (None: none) and name, without those of WITH that are in scope."""

    relations: set[tuple[str | None, str]] = field(default_factory=set)
    functions: set[tuple[str | None, str]] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    most_parameters: int = 0


def names(node: Any) -> Names:
    """Everything that a tree names."""
    found = Names()
    _collect(node, frozenset(), found)
    return found


def _collect(node: Any, shadowed: frozenset[str], found: Names) -> None:
    """`shadowed` are the names of WITH that are in scope."""
    if isinstance(node, list):
        for each in node:
            _collect(each, shadowed, found)
        return
    if not isinstance(node, Mapping):
        return
    if "withClause" in node:
        shadowed = _collect_with(node["withClause"], shadowed, found)
    for key, value in node.items():
        if key != "withClause":
            _note(key, value, shadowed, found)
            _collect(value, shadowed, found)


def _collect_with(clause: Node, shadowed: frozenset[str], found: Names) -> frozenset[str]:
    """Each entry sees those before it, and itself in WITH RECURSIVE, which sees them all."""
    entries = [each["CommonTableExpr"] for each in clause["ctes"]]
    if clause.get("recursive"):
        shadowed |= {str(entry["ctename"]) for entry in entries}
    for entry in entries:
        _note("CommonTableExpr", entry, shadowed, found)
        _collect(entry, shadowed, found)
        shadowed |= {str(entry["ctename"])}
    return shadowed


def _note(key: str, value: Any, shadowed: frozenset[str], found: Names) -> None:
    if not isinstance(value, Mapping):
        return
    if key[0].isupper() or key == "intoClause":
        found.kinds.add(key)
    if "relname" in value:
        schema, name = value.get("schemaname"), str(value["relname"])
        if schema is not None or name not in shadowed:
            found.relations.add((schema, name))
    elif key == "FuncCall":
        found.functions.add(qualified(value["funcname"]))
    elif "names" in value and "typemod" in value:
        found.types.add(qualified(value["names"])[1])
    elif key == "SQLValueFunction":
        found.values.add(str(value["op"]))
    elif key == "ParamRef":
        found.most_parameters = max(found.most_parameters, int(value.get("number", 0)))


def qualified(parts: list[Node]) -> tuple[str | None, str]:
    """Schema and name of what a list of strings names."""
    texts = [str(part["String"]["sval"]) for part in parts]
    return (texts[-2] if len(texts) > 1 else None), texts[-1]


def located(node: Any, kind: str) -> Iterator[Node]:
    """Every node of a kind under a node, with its place."""
    if isinstance(node, list):
        for each in node:
            yield from located(each, kind)
    elif isinstance(node, Mapping):
        for key, value in node.items():
            if key == kind and isinstance(value, Mapping):
                yield value
            yield from located(value, kind)


def constant(node: Any) -> str | None:
    """The text of a constant, also one with a sign or a cast; None for NULL. Raises ValueError for anything else."""
    if "TypeCast" in node:
        return constant(node["TypeCast"]["arg"])
    if "A_Expr" in node and "lexpr" not in node["A_Expr"] and qualified(node["A_Expr"]["name"])[1] == "-":
        return f"-{constant(node['A_Expr']['rexpr'])}"
    if "ColumnRef" in node:
        # SET name = word
        return qualified(node["ColumnRef"]["fields"])[1]
    if "A_Const" not in node:
        raise ValueError("not a constant")
    value = node["A_Const"]
    if value.get("isnull"):
        return None
    for member, name in (
        ("sval", "sval"),
        ("ival", "ival"),
        ("fval", "fval"),
        ("boolval", "boolval"),
        ("bsval", "bsval"),
    ):
        if member in value:
            inner = value[member].get(name, 0 if member == "ival" else False if member == "boolval" else "")
            return str(inner).lower() if isinstance(inner, bool) else str(inner)
    raise ValueError("not a constant")
