"""Bound relations as Spark's: columns by their identifiers, and only those that somebody needs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from query.plan.traverse import columns
from query.plan.tree import (
    Aggregate,
    Column,
    CteRef,
    Distinct,
    Field,
    Filter,
    Join,
    Limit,
    LookupJoin,
    Materialized,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    TopRows,
    Window,
    WindowCall,
)
from query.spark import aggregates, messages, types
from query.spark.refusal import NotOnCluster
from query.spark.scalars import Scalars

# The rows of a dataset: its columns by their stored names, of which some are needed.
Rows = Callable[[str, Sequence[tuple[str, Field]]], Any]
_ALWAYS: Final = Scalars(may_fail=True)
_WITHIN: Final = Scalars()


@dataclass(slots=True)
class Relations:
    """Lowers one relation and everything below it. `needed`: identifiers of columns."""

    rows: Rows
    needed: set[str] = field(default_factory=set)
    means: dict[str, aggregates.Finish] = field(default_factory=dict)

    def lower(self, relation: Relation, wanted: Iterable[Field]) -> Any:
        """With at least the wanted columns. Raises NotOnCluster."""
        self.needed |= {each.id for each in wanted}
        self._collect(relation)
        return self._lower(relation, is_last=True)

    def _collect(self, relation: Relation) -> None:
        """What the relations below need of each other."""
        match relation:
            case Project():
                used = [value for each, value in zip(relation.fields, relation.values, strict=True) if self._has(each)]
                self._need(used)
            case Filter():
                self._need([relation.predicate])
            case Join():
                self._need([] if relation.condition is None else [relation.condition])
            case LookupJoin():
                self._need(each for pair in relation.keys for each in pair)
            case Aggregate():
                self._need(relation.keys)
                self._need(relation.calls)
            case Sort():
                self._need(relation.keys)
            case Window():
                self._need(relation.calls)
            case TopRows() | Limit() | Materialized() | Scan():
                pass
            case CteRef():
                pairs = zip(relation.fields, relation.input.fields, strict=False)
                self.needed |= {below.id for each, below in pairs if self._has(each)}
            case Distinct():
                self.needed |= {each.id for each in relation.fields}
            case SetOperation():
                self.needed |= {each.id for side in (relation.left, relation.right) for each in side.fields}
            case _:
                raise NotOnCluster(_NAMES.get(type(relation).__name__, type(relation).__name__))
        for name in ("input", "left", "right"):
            if isinstance(below := getattr(relation, name, None), Relation):
                self._collect(below)

    def _need(self, nodes: Iterable[object]) -> None:
        self.needed |= {column.id for node in nodes for column in _columns(node)}

    def _has(self, each: Field) -> bool:
        return each.id in self.needed

    def _lower(self, relation: Relation, *, is_last: bool = False) -> Any:
        match relation:
            case Scan():
                pairs = zip(relation.names, relation.fields, strict=True)
                return self.rows(relation.dataset, [(name, each) for name, each in pairs if self._has(each)])
            case Project():
                return self._project(relation)
            case Filter():
                return messages.filtered(self._lower(relation.input), _WITHIN.lower(relation.predicate))
            case Join():
                return self._join(relation)
            case LookupJoin():
                return self._lookup(relation)
            case Aggregate():
                return self._aggregate(relation, is_last=is_last)
            case Window():
                return self._window(relation)
            case Sort():
                return messages.sorted_by(self._lower(relation.input), [_order(each) for each in relation.keys])
            case TopRows() | Materialized():
                return self._lower(relation.input)
            case Limit():
                return self._limit(relation)
            case CteRef():
                return self._renamed(self._lower(relation.input), relation.input.fields, relation.fields)
            case Distinct():
                return self._distinct(relation)
            case SetOperation():
                return self._set_operation(relation)
            case _:
                raise NotOnCluster(type(relation).__name__)

    def _project(self, relation: Project) -> Any:
        pairs = [(each, value) for each, value in zip(relation.fields, relation.values, strict=True) if self._has(each)]
        expressions = [messages.alias(_ALWAYS.lower(value), each.id) for each, value in pairs]
        return messages.project(self._lower(relation.input), expressions)

    def _join(self, relation: Join) -> Any:
        condition = None if relation.condition is None else _WITHIN.lower(relation.condition)
        if condition is None and relation.kind != "inner":
            condition = messages.literal(boolean=True)
        return messages.joined(self._lower(relation.left), self._lower(relation.right), relation.kind, condition)

    def _lookup(self, relation: LookupJoin) -> Any:
        if relation.single and not _is_one_row(relation.right):
            raise NotOnCluster("a subquery that must not give more than one row")
        condition = messages.literal(boolean=True)
        for outer, inner in relation.keys:
            same = messages.call("<=>", _WITHIN.plain(outer), _WITHIN.plain(inner))
            condition = messages.call("and", condition, same)
        return messages.joined(self._lower(relation.left), self._lower(relation.right), relation.kind, condition)

    def _window(self, relation: Window) -> Any:
        outputs = relation.fields[len(relation.input.fields) :]
        made = [messages.alias(_rank(call), each.id) for call, each in zip(relation.calls, outputs, strict=True)]
        return messages.with_columns(self._lower(relation.input), made)

    def _aggregate(self, relation: Aggregate, *, is_last: bool) -> Any:
        outputs = relation.fields[len(relation.keys) :]
        made = [aggregates.columns(call, each) for call, each in zip(relation.calls, outputs, strict=True)]
        finished = {each.id: found.finish for each, found in zip(outputs, made, strict=True) if found.finish}
        if finished and not is_last:
            raise NotOnCluster("the mean of integers below another step")
        self.means |= {name: finish for name, finish in finished.items() if finish is not None}
        keys = [_WITHIN.plain(key) for key in relation.keys]
        calls = [messages.alias(value, name) for found in made for name, value in found.values.items()]
        if not keys and not calls:
            raise NotOnCluster("groups of nothing")
        grouped = messages.aggregated(self._lower(relation.input), keys, calls)
        renames = [each for each, key in zip(relation.fields, relation.keys, strict=False) if each.id != key.id]
        if renames:
            raise NotOnCluster("renamed keys of groups")
        return grouped

    def _limit(self, relation: Limit) -> Any:
        if relation.ties:
            raise NotOnCluster("WITH TIES")
        return messages.limited(self._lower(relation.input), relation.count, relation.offset)

    def _distinct(self, relation: Distinct) -> Any:
        if relation.keys is not None:
            return self._first_of_each(relation, relation.keys)
        for each in relation.fields:
            types.require_plain(each.type)
        return messages.deduplicated(self._only(relation.input, relation.fields))

    def _first_of_each(self, relation: Distinct, keys: Sequence[Column]) -> Any:
        """The first row of each key in the order of the rows."""
        if not isinstance(relation.input, Sort):
            raise NotOnCluster("DISTINCT ON of rows without an order")
        orders = [_order(each) for each in relation.input.keys]
        number = messages.windowed(messages.call("row_number"), [_WITHIN.plain(key) for key in keys], orders)
        rows = messages.with_columns(self._lower(relation.input.input), [messages.alias(number, _NUMBER)])
        return messages.filtered(rows, messages.call("==", messages.attribute(_NUMBER), messages.literal(integer=1)))

    def _set_operation(self, relation: SetOperation) -> Any:
        for each in relation.fields:
            types.require_plain(each.type)
        left, right = (
            self._only(side, side.fields[: len(relation.fields)]) for side in (relation.left, relation.right)
        )
        made = messages.set_operation(left, right, relation.operator, is_all=relation.all)
        return self._renamed(made, relation.left.fields[: len(relation.fields)], relation.fields)

    def _only(self, relation: Relation, fields: Sequence[Field]) -> Any:
        return self._renamed(self._lower(relation), fields, fields)

    def _renamed(self, rows: Any, old: Sequence[Field], new: Sequence[Field]) -> Any:
        pairs = [(below, each) for below, each in zip(old, new, strict=False) if self._has(each) or self._has(below)]
        return messages.project(rows, [messages.alias(messages.attribute(old.id), each.id) for old, each in pairs])


def _columns(node: object) -> Iterable[Column]:
    return [node] if isinstance(node, Column) else columns(node)


def _order(key: SortKey) -> Any:
    if key.value.type.name == "numeric":
        raise NotOnCluster("the order of a numeric")
    return messages.order(_WITHIN.plain(key.value), descending=key.descending, nulls_first=key.nulls_first)


def _is_one_row(relation: Relation) -> bool:
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Aggregate) and not relation.keys


def _rank(call: WindowCall) -> Any:
    name = call.function.partition("(")[0]
    if name not in _RANKS or call.args or call.where is not None or not call.order:
        raise NotOnCluster(f"the window function {name}", call.position)
    partition, orders = [_WITHIN.plain(each) for each in call.partition], [_order(each) for each in call.order]
    return messages.cast(messages.windowed(messages.call(name), partition, orders), "BIGINT")


# No identifier of a column has a blank.
_NUMBER: Final = "row number"
_RANKS: Final = ("row_number", "rank", "dense_rank")
_NAMES: Final = {
    "Unnest": "UNNEST",
    "Recursive": "WITH RECURSIVE",
    "WorkTable": "WITH RECURSIVE",
    "Values": "VALUES beside a dataset",
}
