"""WITH entries that refer to themselves or to later ones: their order, and what PostgreSQL allows of a recursion.

Source: checkWellFormedRecursion in PostgreSQL's parse_cte.c.
"""

import itertools
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from sqlglot import exp

from query import fault
from query.bind.joins import is_comma
from query.syntax.identifiers import fold
from query.syntax.positions import position_of

RECURSION = "42P19"
_SAME_LEVEL = (exp.From, exp.Join, exp.Subquery, exp.SetOperation, exp.Table, exp.Lateral, exp.CTE)
"""The nodes that may contain a query that is no subquery of an expression."""


def entry_name(entry: exp.Expr) -> str:
    """The name of a WITH entry."""
    return fold(entry.args["alias"].this)


def mentions(node: exp.Expr, name: str) -> bool:
    """True where a query names a table so."""
    return next(_references(node, name, ""), None) is not None


def in_order(entries: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The entries of WITH RECURSIVE, each behind those that it reads. Raises 0A000 for two that read each other."""
    by_name = {entry_name(entry): entry for entry in entries}
    needed = {name: set(_read(entry.this, frozenset())) & by_name.keys() - {name} for name, entry in by_name.items()}
    try:
        return [by_name[name] for name in TopologicalSorter(needed).static_order()]
    except CycleError as error:
        message = "mutual recursion between WITH items is not implemented"
        raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, position_of(entries[0])) from error


def _read(node: exp.Expr, hidden: frozenset[str]) -> Iterator[str]:
    """The tables that a query names, but those of its own WITH clauses."""
    clause = node.args.get("with_")
    if clause is not None:
        hidden |= {entry_name(entry) for entry in clause.expressions}
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and fold(node.this) not in hidden:
        yield fold(node.this)
    for child in node.iter_expressions():
        yield from _read(child, hidden)


def recursive_union(entry: exp.Expr, union: exp.Expr) -> exp.Union:
    """The UNION that a WITH entry which refers to itself is, without brackets. Raises 42P19, 0A000 where PostgreSQL
    does."""
    name = entry_name(entry)
    if not isinstance(union, exp.Union):
        message = f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] recursive-term'
        raise fault.invalid(RECURSION, message, position_of(entry))
    for part, clause in (("order", "ORDER BY"), ("offset", "OFFSET"), ("limit", "LIMIT")):
        if union.args.get(part):
            message = f"{clause} in a recursive query is not implemented"
            raise fault.invalid(fault.FEATURE_NOT_SUPPORTED, message, position_of(union.args[part]))
    for table in _in_its_with(entry.this, name):
        raise _misplaced_error(name, "appear within a subquery", table)
    for table, _ in _references(union.this, name, ""):
        raise _misplaced_error(name, "appear within its non-recursive term", table)
    references = list(_references(union.args["expression"], name, ""))
    for table, context in references:
        if context:
            raise _misplaced_error(name, f"appear within {context}", table)
    if len(references) > 1:
        raise _misplaced_error(name, "appear more than once", references[1][0])
    return union


def _in_its_with(query: exp.Expr, name: str) -> Iterator[exp.Expr]:
    """The references in the WITH clauses of the whole query, in brackets or not."""
    clause = query.args.get("with_")
    for inner in clause.expressions if clause is not None else []:
        yield from (table for table, _ in _references(inner.this, name, ""))
    if isinstance(query, exp.Subquery):
        yield from _in_its_with(query.this, name)


def _misplaced_error(name: str, what: str, table: exp.Expr) -> Exception:
    return fault.invalid(RECURSION, f'recursive reference to query "{name}" must not {what}', position_of(table))


def _references(node: exp.Expr, name: str, context: str) -> Iterator[tuple[exp.Expr, str]]:
    """Every reference to the table of this name, with the construct around it that forbids recursion, if any."""
    clause = node.args.get("with_")
    if clause is not None and any(entry_name(entry) == name for entry in clause.expressions):
        return
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and fold(node.this) == name:
        yield node, context
    for child, inside in _children(node):
        subquery = isinstance(child, exp.Query) and not isinstance(node, _SAME_LEVEL)
        yield from _references(child, name, context or ("a subquery" if subquery else inside))


def _children(node: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    joins = node.args.get("joins") or []
    for key, value in node.args.items():
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, exp.Expr):
                continue
            if isinstance(node, exp.SetOperation):
                yield child, _of_set(node, key)
            elif key == "joins":
                own = _side(child) in ("LEFT", "FULL")
                yield child, "an outer join" if own or _is_nullable(joins[joins.index(child) + 1 :]) else ""
            else:
                yield child, "an outer join" if key in ("from_", "this") and _is_nullable(joins) else ""


def _side(join: exp.Expr) -> str:
    return str(join.args.get("side") or "").upper()


def _is_nullable(later: Sequence[exp.Expr]) -> bool:
    """Whether one of the joins that follow a table, up to the next comma, makes rows without it."""
    return any(_side(join) in ("RIGHT", "FULL") for join in itertools.takewhile(lambda join: not is_comma(join), later))


def _of_set(node: exp.Expr, key: str) -> str:
    every = not node.args.get("distinct")
    if isinstance(node, exp.Except) and (key == "expression" or every):
        return "EXCEPT"
    return "INTERSECT" if isinstance(node, exp.Intersect) and every else ""
