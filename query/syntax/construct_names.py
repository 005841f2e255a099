"""What SQL calls a construct that the parser has read and nothing here knows: no name of a parser's class goes out."""

from typing import Final

from sqlglot import exp

UNNAMED: Final = "this syntax"
_NODES: Final[dict[type[exp.Expr], str]] = {
    exp.CurrentUser: "CURRENT_USER",
    exp.SessionUser: "SESSION_USER",
    exp.CurrentRole: "CURRENT_ROLE",
    exp.CurrentCatalog: "CURRENT_CATALOG",
    exp.CurrentSchema: "CURRENT_SCHEMA",
    exp.Overlaps: "OVERLAPS",
    exp.Glob: "GLOB",
    exp.Variadic: "VARIADIC",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.HavingMax: "HAVING MAX in an aggregate",
    exp.HexString: "a bit string",
    exp.BitString: "a bit string",
    exp.ColumnDef: "a list of column definitions",
    exp.Placeholder: "a placeholder other than $1, $2, ...",
    exp.Parameter: "a placeholder other than $1, $2, ...",
    exp.Struct: "{...}",
    exp.Aliases: "a list of aliases",
    exp.Lambda: "a lambda expression",
    exp.MatchAgainst: "the operator @@",
    exp.JSONBPathExists: "the operator @?",
    exp.Adjacent: "the operator -|-",
    exp.Distance: "the operator <->",
    exp.IntDiv: "the operator DIV",
    exp.Pivot: "PIVOT",
    exp.TableSample: "TABLESAMPLE",
    exp.MatchRecognize: "MATCH_RECOGNIZE",
}
_ATTRIBUTES: Final = {
    "from_": "FROM",
    "with_": "WITH",
    "sample": "TABLESAMPLE",
    "search": "SEARCH",
    "rows_from": "ROWS FROM",
    "locks": "FOR UPDATE",
    "into": "SELECT INTO",
    "qualify": "QUALIFY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "prewhere": "PREWHERE",
    "pivots": "PIVOT",
    "except_": "EXCEPT in a list of columns",
    "replace": "REPLACE in a list of columns",
    "rename": "RENAME in a list of columns",
    "format": "FORMAT",
    "version": "FOR SYSTEM_TIME",
    "view": "LATERAL VIEW",
    "unnest": "IN UNNEST",
    "percent": "PERCENT",
}
_OF_NODES: Final[dict[tuple[type[exp.Expr], str], str]] = {
    (exp.Limit, "expressions"): "LIMIT BY",
    (exp.Limit, "limit_options"): "PERCENT",
    (exp.Column, "db"): "a column's name with a schema",
}
HINTS: Final = {
    "QUALIFY": "compute the window function in a subquery and filter its rows outside",
    "LIMIT BY": "number the rows of each group with row_number() in a subquery, or use DISTINCT ON",
    "EXCEPT in a list of columns": "name the columns that you want",
    "the operator @@": "search text with ILIKE or ~, and JSON with ->, ->> and @>",
    "the operator @?": "search JSON with ->, ->> and @>",
    "LATERAL VIEW": "write CROSS JOIN LATERAL unnest(...)",
    "a column's name with a schema": "write the table's name or alias before the column",
}


def node_name(node: exp.Expr) -> str:
    """The words for a node."""
    return _NODES.get(type(node), UNNAMED)


def attribute_name(node: exp.Expr, name: str) -> str:
    """The words for an attribute that a node has."""
    return _OF_NODES.get((type(node), name)) or _ATTRIBUTES.get(name, UNNAMED)
