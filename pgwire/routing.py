"""Where a query goes: to Weir's engine, or to the catalogue. Pure; decided by PostgreSQL's own syntax tree."""

from typing import Final

from pgwire.catalogue import allowed
from pgwire.errors import PgError, read_only, unsupported
from pgwire.syntax_tree import Names

WRITING: Final = frozenset(("InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "intoClause", "LockingClause"))


def is_catalogue(found: Names) -> bool:
    """Whether a query is about the catalogue. Datasets win: what mixes both is the engine's to answer or to refuse.

    Raises PgError for a query that writes, and for one about the catalogue that names what is not on the lists.
    """
    if WRITING & found.kinds:
        raise read_only()
    if any(not _is_relation_of_catalogue(*each) for each in found.relations):
        _refuse_mixture(found)
        return False
    if not (found.relations or _asks_the_catalogue(found)):
        return False
    _require_allowed(found)
    return True


def _is_relation_of_catalogue(schema: str | None, name: str) -> bool:
    """A name without a schema is the catalogue's where PostgreSQL would find it there first."""
    return schema in ("pg_catalog", "information_schema") or (schema is None and name.startswith("pg_"))


def _refuse_mixture(found: Names) -> None:
    """The engine has two relations of information_schema and nothing of pg_catalog."""
    for schema, name in sorted(found.relations, key=str):
        if schema != "information_schema" and _is_relation_of_catalogue(schema, name):
            raise unsupported(f"{name} beside datasets in one statement", "ask the catalogue in a statement of its own")


def _asks_the_catalogue(found: Names) -> bool:
    return bool(
        any(name in allowed.FUNCTIONS for _, name in found.functions)
        or any(schema == "pg_catalog" for schema, _ in found.functions)
        or allowed.TYPES & found.types
        or allowed.VALUES & found.values
    )


def _require_allowed(found: Names) -> None:
    for schema, name in sorted(found.relations, key=str):
        if schema != "information_schema" and name not in allowed.RELATIONS:
            raise _refused("relation", name)
    for schema, name in sorted(found.functions, key=str):
        shown = f"{schema}.{name}" if schema == "information_schema" else name
        if schema not in allowed.SCHEMAS or shown not in allowed.FUNCTIONS | allowed.HARMLESS:
            raise _refused("function", name)


def _refused(noun: str, name: str) -> PgError:
    return unsupported(f'the {noun} "{name}" in a statement about the catalogue')
