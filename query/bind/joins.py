"""Two items of FROM side by side: which names they bring together, and the rows they make.

An item that refers to the one on its left (LATERAL, a function's arguments) is evaluated for each of its rows.
"""

from dataclasses import replace

from sqlglot import exp

from query import fault
from query.bind.decorrelate import decorrelate
from query.bind.operators import comparison
from query.bind.scope import FromItem, Source, Visible
from query.pg.types import BOOL
from query.plan.environment import Environment
from query.plan.traverse import free_columns
from query.plan.tree import (
    Coalesce,
    Constant,
    Filter,
    Join,
    Logic,
    LookupJoin,
    Project,
    Relation,
    Scalar,
    Unnest,
    truth,
)
from query.syntax.identifiers import fold
from query.syntax.positions import position_of


def is_comma(join: exp.Expr) -> bool:
    """True for a mere comma between two items of FROM, which sqlglot has among the joins."""
    return not any(join.args.get(part) for part in ("side", "kind", "method", "on", "using"))


def beside(left: FromItem, right: FromItem) -> FromItem:
    """The names of both; the rows are yet those of the left."""
    return FromItem(left.relation, (*left.sources, *right.sources), (*left.visible, *right.visible))


def join_items(
    left: FromItem, right: FromItem, side: str, condition: Scalar | None, environment: Environment
) -> FromItem:
    """`left [LEFT | RIGHT | FULL] JOIN right ON condition`; a missing condition is a cross join."""
    relation = _rows(left.relation, right.relation, side, condition, environment)
    return FromItem(relation, _sources(left, right, side), (*left.visible, *right.visible))


def merge_using(left: FromItem, right: FromItem, side: str, node: exp.Expr, environment: Environment) -> FromItem:
    """USING and NATURAL: the common columns come first, once; of a full join, whichever side has a value."""
    names = _common_names(left, right, node)
    pairs = [(_only(left, name, node, "left"), _only(right, name, node, "right")) for name in names]
    tests = tuple(environment.localise(comparison("=", a.value, b.value, position_of(node))) for a, b in pairs)
    condition = None if not tests else tests[0] if len(tests) == 1 else Logic(BOOL, "and", tests)
    relation = _rows(left.relation, right.relation, side, condition, environment)
    columns = tuple(
        Visible(a.name, _merge_column(a.value, b.value, test, side)) for (a, b), test in zip(pairs, tests, strict=True)
    )
    rest = tuple(column for column in (*left.visible, *right.visible) if column.name not in names)
    sources = _sources(left, right, side)
    if node.args.get("alias") is not None:
        sources = (*sources, Source(fold(node.args["alias"]), columns))
    return FromItem(relation, sources, (*columns, *rest))


def _rows(left: Relation, right: Relation, side: str, condition: Scalar | None, environment: Environment) -> Relation:
    left_ids = {field.id for field in left.fields}
    outward = [column for column in free_columns(right) if column.id in left_ids]
    if not outward:
        return _plain(left, right, side, condition)
    if side in ("right", "full"):
        message = "invalid reference to FROM-clause entry: the join of a LATERAL reference must be INNER or LEFT"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, outward[0].position)
    always = condition is None or (isinstance(condition, Constant) and condition.value is True)
    if isinstance(right, Unnest) and not right.input.fields and (always or not side):
        fields = (*left.fields, *right.fields)
        unfolded = Unnest(fields, left, right.values, right.ordinality, side == "left")
        return unfolded if always or condition is None else Filter(fields, unfolded, condition)
    if condition is not None and not always:
        right = Filter(right.fields, right, condition)
    inner, keys = decorrelate(right, left, environment)
    return LookupJoin((*left.fields, *inner.fields), left, inner, keys, side or "inner", False)


def _plain(left: Relation, right: Relation, side: str, condition: Scalar | None) -> Relation:
    """A join of two relations that know nothing of each other."""
    fields = (*left.fields, *right.fields)
    if side == "right":
        flipped = Join((*right.fields, *left.fields), right, left, "left", condition)
        return Project(fields, flipped, tuple(field.ref() for field in fields))
    return Join(fields, left, right, side or "inner", condition)


def _sources(left: FromItem, right: FromItem, side: str) -> tuple[Source, ...]:
    """The tables of both; those on a side that may have no row are marked."""
    first = _outer(left.sources) if side in ("right", "full") else left.sources
    second = _outer(right.sources) if side in ("left", "full") else right.sources
    return (*first, *second)


def with_presence(item: FromItem, names: frozenset[str], environment: Environment) -> FromItem:
    """The item with a column that tells its rows from those that an outer join adds, if a table's whole row is used."""
    if not any(source.alias in names and source.presence is None for source in item.sources):
        return item
    mark, relation = environment.field(BOOL), item.relation
    fields = (*relation.fields, mark)
    marked = Project(fields, relation, (*(field.ref() for field in relation.fields), truth(True)))
    sources = (
        replace(each, presence=mark.ref()) if each.presence is None and not each.nullable else each
        for each in item.sources
    )
    return replace(item, relation=marked, sources=tuple(sources))


def _outer(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    return tuple(replace(source, nullable=True) for source in sources)


def _common_names(left: FromItem, right: FromItem, node: exp.Expr) -> list[str]:
    if not node.args.get("using"):
        theirs = [column.name for column in right.visible]
        return [column.name for column in left.visible if column.name in theirs]
    names = [fold(column) for column in node.args["using"]]
    for name in names:
        if names.count(name) > 1:
            message = f'column name "{name}" appears more than once in USING clause'
            raise fault.invalid(fault.DUPLICATE_COLUMN, message, position_of(node))
    return names


def _only(item: FromItem, name: str, node: exp.Expr, side: str) -> Visible:
    columns = [column for column in item.visible if column.name == name]
    if not columns:
        message = f'column "{name}" specified in USING clause does not exist in {side} table'
        raise fault.invalid(fault.UNDEFINED_COLUMN, message, position_of(node))
    if len(columns) > 1:
        message = f'common column name "{name}" appears more than once in {side} table'
        raise fault.invalid(fault.AMBIGUOUS_COLUMN, message, position_of(node))
    return columns[0]


def _merge_column(left: Scalar, right: Scalar, test: Scalar, side: str) -> Scalar:
    left, right = getattr(test, "args", (left, right))
    if side == "right":
        return right
    return Coalesce(left.type, (left, right)) if side == "full" else left
