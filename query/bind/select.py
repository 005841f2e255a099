"""One SELECT: its clauses in the order in which they take effect."""

from dataclasses import dataclass, field, replace

from sqlglot import exp

from query import fault
from query.bind.block import Block, unfold_series
from query.bind.filters import bind_where
from query.bind.grouping import Grouping, bind_grouping
from query.bind.limit import apply_limit
from query.bind.operators import require_hashable, require_sortable
from query.bind.outputs import bare_name, output_position, targets
from query.bind.scope import Scope
from query.bind.sources import FromBinder
from query.bind.type_resolution import coerce, unknown_to_text
from query.bind.windows import bind_named
from query.limits import MAX_SELECT_ITEMS
from query.pg.types import TEXT
from query.plan.environment import BoundQuery, CommonTables, Environment
from query.plan.traverse import columns
from query.plan.tree import (
    Column,
    Constant,
    Distinct,
    Field,
    Filter,
    Join,
    Project,
    Relation,
    Scalar,
    Sort,
    SortKey,
    Window,
    WorkTable,
)
from query.syntax.positions import position_of


@dataclass(slots=True)
class Items:
    """The select list: names and values, and which values are bare literals."""

    names: list[str] = field(default_factory=list)
    values: list[Scalar] = field(default_factory=list)
    untyped: dict[int, Constant | None] = field(default_factory=dict)

    def add(self, name: str, value: Scalar) -> None:
        if value.type.name == "unknown":
            if isinstance(value, Constant):
                self.untyped[len(self.values)] = value
            value = coerce(value, TEXT)
        self.names.append(name)
        self.values.append(value)

    def untyped_but(self, compared: set[Scalar]) -> dict[int, Constant | None]:
        """The bare literals whose type is still open: one that is compared with others has become text."""
        return {index: literal for index, literal in self.untyped.items() if self.values[index] not in compared}


def bind_select(node: exp.Expr, environment: Environment, tables: CommonTables, parent: Scope | None) -> BoundQuery:
    """A SELECT as a relation whose fields are its output columns."""
    item = FromBinder(environment, tables, parent).bind(node)
    block = Block(environment, tables, Scope(item, parent))
    relation = bind_where(node.args.get("where"), item.relation, block)
    block.phase = "groups"
    grouping = bind_grouping(node, block)
    block.phase = "outputs"
    bind_named(node.args.get("windows") or [], block)
    items = _items(node, block)
    having = _having(node, block)
    order = _order(node, block, items)
    if block.aggregates and _recurs(item.relation):
        message = "aggregate functions are not allowed in a recursive query's recursive term"
        raise fault.invalid("42P19", message, next(iter(block.aggregates)).position)
    unique = _distinct_on(node, block, items)
    if grouping is not None or block.aggregates or having is not None:
        grouping = grouping or Grouping((), ((),))
        relation, replaced = grouping.apply(relation, block)
        items.values = [replaced(value) for value in items.values]
        order = [replace(key, value=replaced(key.value)) for key in order]
        unique = [replaced(value) for value in unique] if unique is not None else None
        having = replaced(having) if having is not None else None
        block.windows = {replaced.window(call): field for call, field in block.windows.items()}
        for window in block.window_names.values():
            replaced.check(window.partition, window.order)
        block.series = [(replaced(array), field) for array, field in block.series]
        block.lookups = [replaced.lookup(pending) for pending in block.lookups]
    relation = block.attach(block.attach(relation, block.inner_lookups), block.lookups)
    if having is not None:
        relation = Filter(relation.fields, relation, having)
    relation = _windows(relation, block)
    if _unfolds_last(order, unique, block):
        return _finish_unfolding(node, relation, items, order, unique or [], block)
    relation = unfold_series(relation, block.series)
    return _finish(node, relation, items, order, unique, block)


def _recurs(relation: Relation) -> bool:
    """True when FROM itself, not a subquery of it, reads the recursion's last round."""
    if isinstance(relation, Join):
        return _recurs(relation.left) or _recurs(relation.right)
    return isinstance(relation, WorkTable)


def _windows(relation: Relation, block: Block) -> Relation:
    if not block.windows:
        return relation
    return Window((*relation.fields, *block.windows.values()), relation, tuple(block.windows))


def _items(node: exp.Expr, block: Block) -> Items:
    items = Items()
    with block.binding("the select list", aggregates=True, windows=True, series=True):
        for index, target in enumerate(targets(node, block)):
            own = block.repeated_keys.get(index)
            value = target.bind(block) if own is None else own[0].ref()
            items.add(target.name, value)
    if len(items.values) > MAX_SELECT_ITEMS:
        message = f"target lists can have at most {MAX_SELECT_ITEMS} entries"
        raise fault.invalid(fault.PROGRAM_LIMIT, message, position_of(node))
    return items


def _having(node: exp.Expr, block: Block) -> Scalar | None:
    clause = node.args.get("having")
    if clause is None:
        return None
    with block.binding("HAVING", aggregates=True):
        return block.bind_boolean(clause.this, "HAVING")


def _order(node: exp.Expr, block: Block, items: Items) -> list[SortKey]:
    """ORDER BY: an output position, an output name, or an expression over FROM."""
    clause = node.args.get("order")
    if clause is None:
        return []
    keys = []
    with block.binding("ORDER BY", aggregates=True, windows=True, series=True):
        for ordered in clause.expressions:
            value = unknown_to_text(_by_name(ordered.this, items, "ORDER BY") or block.bind(ordered.this))
            require_sortable(value.type, position_of(ordered))
            keys.append(SortKey(value, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))))
    return keys


def _by_name(node: exp.Expr, items: Items, clause: str) -> Scalar | None:
    """The output that a position or a bare name stands for."""
    index = output_position(node, len(items.values), clause)
    if index is not None:
        return items.values[index]
    name = bare_name(node)
    values = list(
        dict.fromkeys(
            value for output_name, value in zip(items.names, items.values, strict=True) if output_name == name
        )
    )
    if len(values) > 1:
        raise fault.invalid(fault.AMBIGUOUS_COLUMN, f'{clause} "{name}" is ambiguous', position_of(node))
    return values[0] if values else None


def _distinct_on(node: exp.Expr, block: Block, items: Items) -> list[Scalar] | None:
    distinct = node.args.get("distinct")
    if distinct is None or distinct.args.get("on") is None:
        return None
    key_nodes = distinct.args["on"]
    parts = key_nodes.expressions if isinstance(key_nodes, exp.Tuple) else [key_nodes]
    if not parts:
        raise fault.invalid(fault.SYNTAX_ERROR, "DISTINCT ON names nothing", position_of(node))
    with block.binding("DISTINCT ON", aggregates=True, windows=True, series=True):
        return [unknown_to_text(_by_name(part, items, "DISTINCT ON") or block.bind(part)) for part in parts]


def _finish(
    node: exp.Expr,
    relation: Relation,
    items: Items,
    order: list[SortKey],
    unique: list[Scalar] | None,
    block: Block,
) -> BoundQuery:
    """Projection, DISTINCT, ORDER BY and LIMIT over the computed rows."""
    environment = block.environment
    outputs = tuple(environment.field(value.type) for value in items.values)
    by_value = dict(zip(items.values, outputs, strict=True))
    extra: dict[Scalar, Field] = {}
    for value in [*(key.value for key in order), *(unique or [])]:
        if value not in by_value and value not in extra:
            extra[value] = environment.field(value.type)
    distinct = node.args.get("distinct")
    if distinct is not None and unique is None and any(key.value in extra for key in order):
        message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(node.args["order"]))
    fields = (*outputs, *extra.values())
    relation = Project(fields, relation, (*items.values, *extra))
    columns_of = {**by_value, **extra}
    keys = tuple(
        replace(key, value=columns_of[key.value].ref()) for key in order if not isinstance(key.value, Constant)
    )
    if distinct is not None and unique is None:
        for value in items.values:
            require_hashable(value.type, position_of(node))
        relation = Distinct(relation.fields, relation)
    if unique is not None:
        _check_distinct_on(unique, order, node)
        if keys:
            relation = Sort(relation.fields, relation, keys)
        marks = tuple(columns_of[value].ref() for value in unique)
        relation = Distinct(relation.fields, relation, tuple(mark for mark in marks if isinstance(mark, Column)))
    if keys:
        relation = Sort(relation.fields, relation, keys)
    relation = apply_limit(node, relation, keys, block)
    if extra:
        relation = Project(outputs, relation, tuple(field.ref() for field in outputs))
    named_outputs = tuple(zip(items.names, outputs, strict=True))
    compared = {*(key.value for key in order), *(unique or items.values * (distinct is not None)), *block.group_keys}
    return BoundQuery(relation, named_outputs, items.untyped_but(compared))


def _unfolds_last(order: list[SortKey], unique: list[Scalar] | None, block: Block) -> bool:
    """True where set-returning functions give their rows after DISTINCT ON and ORDER BY, neither of which has one."""
    if not block.series or not order or unique is None:
        return False
    rows = {field.id for _, field in block.series}
    return not any(column.id in rows for value in (*unique, *(key.value for key in order)) for column in columns(value))


def _finish_unfolding(
    node: exp.Expr,
    relation: Relation,
    items: Items,
    order: list[SortKey],
    unique: list[Scalar],
    block: Block,
) -> BoundQuery:
    """The first row of each key in order, and then the rows of its set-returning functions."""
    _check_distinct_on(unique, order, node)
    environment = block.environment
    added = {value: environment.field(value.type) for value in (*unique, *(key.value for key in order))}
    kept = relation.fields
    relation = Project((*kept, *added.values()), relation, (*(field.ref() for field in kept), *added))
    keys = tuple(replace(key, value=added[key.value].ref()) for key in order)
    relation = Sort(relation.fields, relation, keys)
    relation = Distinct(relation.fields, relation, tuple(added[value].ref() for value in unique))
    relation = unfold_series(Sort(relation.fields, relation, keys), block.series)
    outputs = tuple(environment.field(value.type) for value in items.values)
    relation = apply_limit(node, Project(outputs, relation, tuple(items.values)), (), block)
    compared = {*added, *block.group_keys}
    return BoundQuery(relation, tuple(zip(items.names, outputs, strict=True)), items.untyped_but(compared))


def _check_distinct_on(unique: list[Scalar], order: list[SortKey], node: exp.Expr) -> None:
    leading = [key.value for key in order[: len(set(unique))]]
    if order and any(value not in unique for value in leading):
        message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(node))
