"""The name PostgreSQL gives to a column of the answer that has no alias (FigureColname in parse_target.c)."""

from typing import Final

from sqlglot import exp

from query.bind.type_names import type_name
from query.syntax.identifiers import fold
from query.syntax.json_queries import JsonQuery

UNNAMED: Final = "?column?"
BOUND_NAME: Final = "bound name"
_FIXED: Final[dict[type[exp.Expr], str]] = {
    exp.Extract: "extract",
    exp.StrPosition: "position",
    exp.Substring: "substring",
    exp.Overlay: "overlay",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDate: "current_date",
    exp.CurrentSchema: "current_schema",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentTime: "current_time",
    exp.Localtime: "localtime",
    exp.Localtimestamp: "localtimestamp",
    exp.Exists: "exists",
    exp.Array: "array",
    exp.Tuple: "row",
    exp.AtTimeZone: "timezone",
    exp.Overlaps: "overlaps",
}
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_WRAPPERS: Final = (exp.Paren, exp.Collate, exp.Bracket, exp.Window, exp.Filter, exp.WithinGroup)


def column_name(node: exp.Expr) -> str:
    """The name of an output column.

    >>> from query.syntax.parse import parse
    >>> column_name(parse("SELECT count(*)").tree.expressions[0])
    'count'
    """
    if isinstance(node, exp.Alias):
        return fold(node.args["alias"])
    return _figure(node)[0]


def _figure(node: exp.Expr) -> tuple[str, int]:
    """A name and how much PostgreSQL insists on it: 0 none, 1 weak (a type's), 2 strong."""
    if isinstance(node, exp.Column):
        return fold(node.args["table"] if isinstance(node.this, exp.Star) else node.this), 2
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower(), 2
    if isinstance(node, _WRAPPERS):
        return _figure(node.this)
    if type(node) in _FIXED:
        return _FIXED[type(node)], 2
    if isinstance(node, JsonQuery):
        return str(node.args["function"].this), 2
    if isinstance(node, exp.Trim):
        return _TRIMS.get(str(node.args.get("position")), "btrim"), 2
    if isinstance(node, exp.Cast | exp.TryCast):
        name, strength = _figure(node.this)
        return (name, strength) if strength > 1 else (type_name(node.to).column_name, 1)
    if isinstance(node, exp.Interval):
        return "interval", 1
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        name, strength = _figure(default) if default is not None else (UNNAMED, 0)
        return (name, strength) if strength > 1 else ("case", 1)
    if isinstance(node, exp.Subquery):
        return _subquery_name(node)
    return UNNAMED, 0


def _subquery_name(node: exp.Subquery) -> tuple[str, int]:
    """The name of the subquery's column, as noted when it was bound: `*` has none before."""
    if BOUND_NAME in node.meta:
        return str(node.meta[BOUND_NAME]), 2
    query: exp.Expr = node.this
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if isinstance(query, exp.Select) and query.expressions:
        return column_name(query.expressions[0]), 2
    return UNNAMED, 0
