"""Statements as sessions keep them: what kind each is, the query inside, and what its results look like."""

from dataclasses import dataclass
from functools import cached_property

from pgwire import sql_text, syntax_tree
from pgwire.errors import PgError, unsupported
from pgwire.messages import Column
from pgwire.routing import is_catalogue
from pgwire.syntax_tree import Names, NotParsed, Statement
from query.pg.oids import OIDS, oid

# A text that PostgreSQL does not parse goes to the engine, which has extensions, and better words for what is wrong.
UNPARSED = ""
QUERIES = (UNPARSED, "SelectStmt")


@dataclass(frozen=True)
class Parsed:
    """One statement. `offset`: where it begins in what the client sent, in characters."""

    sql: str
    kind: str
    node: syntax_tree.Node
    offset: int = 0
    # Bytes that stand before the tree's own text in what was parsed.
    tree_offset: int = 0

    @cached_property
    def names(self) -> Names:
        return syntax_tree.names({self.kind: self.node} if self.kind else {})

    @property
    def is_query(self) -> bool:
        return self.kind in QUERIES

    @cached_property
    def is_catalogue(self) -> bool:
        """Whether it is a query about the catalogue. Raises PgError for one that may not be asked."""
        return self.kind == "SelectStmt" and is_catalogue(self.names)


def parse(text: str) -> list[Parsed]:
    """The statements of a text; nothing for an empty one."""
    try:
        found = syntax_tree.split(text)
    except NotParsed:
        return [Parsed(text, UNPARSED, {})] if text.strip() else []
    return [_parsed(each, text) for each in found]


def _parsed(found: Statement, text: str) -> Parsed:
    return Parsed(found.sql, found.kind, found.node, found.start, len(text[: found.start].encode()))


def inner(text: str | None, noun: str) -> Parsed:
    """The query in another statement, whose text may begin with blanks. Raises PgError."""
    found = [] if text is None else parse(text)
    if text is None or len(found) != 1 or not found[0].is_query:
        raise unsupported(f"anything but a query in {noun}")
    only = found[0]
    return Parsed(text, only.kind, only.node, 0, 0)


def declared(statement: Parsed) -> Parsed:
    """The query of a DECLARE. Raises PgError."""
    return inner(sql_text.declared_query(statement.sql), "DECLARE")


def prepared(statement: Parsed) -> Parsed:
    """The query of a PREPARE. Raises PgError."""
    return inner(sql_text.prepared_query(statement.sql), "PREPARE")


def argument_types(node: syntax_tree.Node) -> tuple[int, ...]:
    """The types that a PREPARE declares; 0 for those that we do not know by name."""
    names = [syntax_tree.qualified(each["TypeName"]["names"])[1] for each in node.get("argtypes", ())]
    return tuple(oid(name) if name in OIDS else 0 for name in names)


def copied(statement: Parsed) -> Parsed:
    """The query of a COPY, or of a dataset that it names. Raises PgError."""
    node = statement.node
    if "query" in node:
        return inner(sql_text.copied_query(statement.sql), "COPY")
    relation = node["relation"]
    columns = ", ".join(sql_text.quoted(each["String"]["sval"]) for each in node.get("attlist", ())) or "*"
    schema = f"{sql_text.quoted(relation['schemaname'])}." if "schemaname" in relation else ""
    return inner(f"SELECT {columns} FROM {schema}{sql_text.quoted(relation['relname'])}", "COPY")


@dataclass(frozen=True, slots=True)
class Description:
    """The types of a statement's parameters, and the columns of its answer; None: it answers with no rows."""

    parameters: tuple[int, ...] = ()
    columns: tuple[Column, ...] | None = None
    # The catalogue's own RowDescription, which knows more of its columns.
    raw: bytes | None = None


@dataclass(slots=True)
class PreparedStatement:
    """A statement under a name, the types that its client declared, and once it is known, its description."""

    statement: Parsed
    types: tuple[int, ...] = ()
    description: Description | None = None

    def parameter_types(self) -> tuple[int, ...]:
        """The type of every parameter: as inferred, or as declared; 0 while a type is not known."""
        if self.description is not None:
            return self.description.parameters
        missing = max(0, self.statement.names.most_parameters - len(self.types))
        return (*self.types, *[0] * missing)


def require_one(statements: list[Parsed]) -> Parsed | None:
    """The only statement of a text, None for an empty text. Raises PgError for several."""
    if len(statements) > 1:
        raise PgError("42601", "cannot insert multiple commands into a prepared statement")
    return statements[0] if statements else None
