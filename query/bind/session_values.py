"""What a session knows of itself: constants of the statement. Who asks is not told to the compiler."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind.arguments import arguments
from query.bind.block import Block
from query.bind.type_resolution import call
from query.functions.registry import syntax
from query.pg.types import INT4, TEXT
from query.plan.tree import Constant, Scalar
from query.syntax.positions import position_of

USER: Final = "weir"
DATABASE: Final = "weir"
SCHEMA: Final = "public"
FROM_WORDS: Final = (
    *("current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp"),
    *("current_user", "localtime", "localtimestamp", "session_user", "system_user", "user"),
)
"""Words that PostgreSQL takes for functions in FROM."""
VERSION: Final = "PostgreSQL 18.0 (Weir)"
"""The version whose SQL this is; clients read the number behind the first word."""


@syntax(
    *(exp.CurrentUser, exp.SessionUser, "current_user", "session_user", "current_role", "user"),
    form="current_user, session_user, current_role",
    summary="The name of the database's one user.",
)
def current_user(node: exp.Expr, block: Block) -> Scalar:
    _without_brackets(node)
    return Constant(TEXT, USER)


@syntax("system_user")
def system_user(node: exp.Expr, block: Block) -> Scalar:
    _without_brackets(node)
    raise fault.unsupported("system_user", position_of(node))


@syntax("current_catalog")
def called_catalog(node: exp.Expr, block: Block) -> Scalar:
    _without_brackets(node)
    return Constant(TEXT, DATABASE)


@syntax(exp.CurrentCatalog, "current_database", form="current_database(), current_catalog", summary="`weir`.")
def current_database(node: exp.Expr, block: Block) -> Scalar:
    _without_arguments(node)
    return Constant(TEXT, DATABASE)


@syntax(exp.CurrentSchema, "current_schema", form="current_schema", summary="`public`.")
def current_schema(node: exp.Expr, block: Block) -> Scalar:
    _without_arguments(node)
    return Constant(TEXT, SCHEMA)


@syntax("version", form="version()", summary="The version of PostgreSQL whose SQL this is.")
def version(node: exp.Expr, block: Block) -> Scalar:
    _without_arguments(node)
    return Constant(TEXT, VERSION)


@syntax("pg_backend_pid", form="pg_backend_pid()", summary="0: a statement has no process of its own.")
def backend(node: exp.Expr, block: Block) -> Scalar:
    _without_arguments(node)
    return Constant(INT4, 0)


@syntax("setseed", form="setseed(0.5)", summary="Lets random numbers from here on follow PostgreSQL's own sequence.")
def setseed(node: exp.Expr, block: Block) -> Scalar:
    if block.scope.item.sources:
        raise fault.unsupported("setseed for each row", position_of(node), "write it in a SELECT without FROM")
    return call("setseed", arguments(node, block), position_of(node))


def _without_brackets(node: exp.Expr) -> None:
    """Raises 42601 for a call of what is a word of the grammar, not a function, unless it is quoted."""
    if isinstance(node, exp.Anonymous) and not isinstance(node.this, exp.Identifier):
        raise fault.invalid(fault.SYNTAX_ERROR, 'syntax error at or near "("', position_of(node))


def _without_arguments(node: exp.Expr) -> None:
    if node.args.get("expressions"):
        message = f"function {node.name} takes no arguments"
        raise fault.invalid(fault.UNDEFINED_FUNCTION, message, position_of(node))
