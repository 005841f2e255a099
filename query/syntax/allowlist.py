"""Which syntax the compiler knows: node types of the parsed tree and, for each, the attributes it consumes.

A node or a set attribute that is not listed is refused by name. An attribute that were ignored would change the
meaning in silence: `NOT LIKE` is `Like` with `negate`.
"""

from typing import Final

from sqlglot import exp

from errors import WeirError
from query.advice import ONLY_QUERIES
from query.fault import invalid, unsupported
from query.limits import MAX_TREE_DEPTH, too_complex
from query.syntax.construct_names import HINTS, attribute_name, node_name
from query.syntax.dialect import Plus
from query.syntax.json_queries import JsonQuery
from query.syntax.positions import operator_of, position_of

_BINARY: Final = frozenset({"this", "expression"})
_UNARY: Final = frozenset({"this"})
_NOTHING: Final[frozenset[str]] = frozenset()
_LIST: Final = frozenset({"expressions"})
_SELECT: Final = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "group", "having", "order", "limit", "offset", "distinct"}
    | {"with_", "windows", "kind"}
)
_SET: Final = frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"})

ALLOWED: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Select: _SELECT - {"kind"},
    exp.Union: _SET,
    exp.Intersect: _SET,
    exp.Except: _SET,
    exp.Subquery: frozenset({"this", "alias", "with_", "order", "limit", "offset", "joins"}),
    exp.Values: frozenset({"expressions", "alias", "order", "limit", "offset", "joins"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.From: _UNARY,
    exp.Table: frozenset({"this", "alias", "joins", "ordinality", "only", "laterals", "db", "catalog", "sample"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method", "alias"}),
    exp.Lateral: frozenset({"this", "alias", "ordinality", "joins"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset"}),
    exp.Where: _UNARY,
    exp.Having: _UNARY,
    exp.Group: frozenset({"expressions", "rollup", "cube", "grouping_sets", "all"}),
    exp.Rollup: _LIST,
    exp.Cube: _LIST,
    exp.GroupingSets: _LIST,
    exp.Order: frozenset({"this", "expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows", "with_ties"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side", "exclude"}),
    exp.Filter: _BINARY,
    exp.WithinGroup: _BINARY,
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Var: _UNARY,
    exp.Star: _NOTHING,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.ByteString: _UNARY,
    exp.RawString: _UNARY,
    exp.Concat: frozenset({"expressions", "coalesce", "safe"}),
    exp.UnicodeString: frozenset({"this", "escape"}),
    exp.JSON: frozenset({"this", "with_", "unique"}),
    JsonQuery: frozenset(JsonQuery.arg_types),
    exp.Null: _NOTHING,
    exp.Boolean: _UNARY,
    exp.Paren: _UNARY,
    exp.Tuple: _LIST,
    exp.Array: _LIST,
    exp.Bracket: frozenset({"this", "expressions"}),
    exp.Slice: _BINARY,
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.DataType: frozenset({"this", "expressions", "nested", "kind", "values"}),
    exp.DataTypeParam: _UNARY,
    exp.Interval: frozenset({"this", "unit"}),
    exp.Collate: _BINARY,
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    **dict.fromkeys((exp.Kwarg, exp.PropertyEQ), _BINARY),
    exp.Extract: _BINARY,
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.Overlay: frozenset({"this", "expression", "from_", "for_"}),
    exp.CurrentDate: _NOTHING,
    **dict.fromkeys((exp.CurrentUser, exp.SessionUser, exp.CurrentCatalog, exp.CurrentSchema), _NOTHING),
    exp.Variadic: _UNARY,
    exp.Overlaps: _BINARY,
    exp.ColumnDef: frozenset({"this", "kind"}),
    exp.TableSample: frozenset({"method", "percent", "seed"}),
    exp.CurrentTimestamp: _NOTHING,
    exp.CurrentTime: _NOTHING,
    exp.Localtime: _NOTHING,
    exp.Localtimestamp: _NOTHING,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Exists: _UNARY,
    exp.Any: _UNARY,
    exp.All: _UNARY,
    exp.In: frozenset({"this", "expressions", "query", "negate"}),
    exp.Between: frozenset({"this", "low", "high", "symmetric", "negate"}),
    exp.Is: frozenset({"this", "expression", "negate"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
    exp.SimilarTo: frozenset({"this", "expression", "negate"}),
    exp.RegexpLike: frozenset({"this", "expression", "negate"}),
    exp.RegexpILike: frozenset({"this", "expression", "negate"}),
    exp.Escape: _BINARY,
    exp.Operator: frozenset({"this", "operator", "expression"}),
    exp.Not: _UNARY,
    exp.Neg: _UNARY,
    **dict.fromkeys((Plus, exp.BitwiseNot, exp.Abs, exp.Sqrt, exp.Cbrt), _UNARY),
    **dict.fromkeys(
        (exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ), _BINARY
    ),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Pow, exp.BitwiseAnd, exp.BitwiseOr), _BINARY),
    **dict.fromkeys((exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift), _BINARY),
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
}

_STATEMENTS: Final = (exp.DDL, exp.DML, exp.Command, exp.Set, exp.Transaction, exp.Commit, exp.Rollback, exp.Into)
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_TIGHT: Final = (exp.RegexpLike, exp.RegexpILike, exp.Operator)
_SAME_LEVEL: Final = (exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.Operator)


def check_tree(tree: exp.Expr) -> None:
    """Refuses the first node or attribute that the compiler does not know, and what PostgreSQL would not parse."""
    pending: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_TREE_DEPTH:
            raise too_complex()
        _check_node(node)
        pending.extend((child, depth + 1) for child in node.iter_expressions())


def _check_node(node: exp.Expr) -> None:
    allowed = ALLOWED.get(type(node))
    if allowed is None:
        raise _unknown(node)
    for name, value in node.args.items():
        if value and name not in allowed:
            construct = attribute_name(node, name)
            raise unsupported(construct, position_of(node), HINTS.get(construct))
    if isinstance(node, _COMPARISONS):
        _check_comparison(node)
    if isinstance(node, _TIGHT) and isinstance(node.args.get("expression"), _SAME_LEVEL):
        raise unsupported("an operator chain whose order differs from PostgreSQL's", position_of(node), "add brackets")


def _check_comparison(node: exp.Expr) -> None:
    """PostgreSQL's comparison operators do not chain: a < b < c is a syntax error."""
    if isinstance(node.this, _COMPARISONS) or isinstance(node.args["expression"], _COMPARISONS):
        raise invalid("42601", "comparison operators cannot be chained", operator_of(node), "use AND or brackets")


def _unknown(node: exp.Expr) -> WeirError:
    if isinstance(node, _STATEMENTS):
        return unsupported("a statement that is no query", position_of(node), ONLY_QUERIES)
    construct = node_name(node)
    return unsupported(construct, position_of(node), HINTS.get(construct))
