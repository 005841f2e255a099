"""GROUP BY with grouping sets, and what it makes of the expressions above it."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from query import fault
from query.bind.block import GROUP_VALUE, Block, column_namer, unfold_series, ungrouped_error
from query.bind.lookups import PendingLookup
from query.bind.operators import require_hashable
from query.bind.outputs import Outputs
from query.bind.type_resolution import unknown_to_text
from query.limits import MAX_GROUPING_SETS
from query.pg.types import INT4
from query.plan.traverse import columns, rewrite
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Call,
    Column,
    Constant,
    Field,
    Project,
    Relation,
    RowOf,
    Scalar,
    SetOperation,
    SortKey,
    WindowCall,
)
from query.syntax.positions import position_of

Sets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Replaced:
    """Rewrites an expression over FROM into one over the groups. Raises 42803 for a column that is in neither."""

    keys: dict[Scalar, Scalar]
    source: frozenset[str]
    known: frozenset[str]
    name_of: Callable[[str], str]

    def __call__(self, value: Scalar) -> Scalar:
        result = rewrite(value, self._key)
        for column in columns(result):
            self._check(column)
        return result

    def _key(self, value: Scalar) -> Scalar | None:
        key = self.keys.get(value)
        if key is None and isinstance(value, RowOf) and value.table:
            self._check_row(value)
        return key

    def _check_row(self, row: RowOf) -> None:
        """A whole row is not grouped by its columns, even by all of them."""
        if any(column.id in self.source for column in columns(row)):
            raise ungrouped_error(f"{row.table}.*", row.position)

    def _check(self, column: Column) -> None:
        if column.id in self.source and column.id not in self.known:
            raise ungrouped_error(self.name_of(column.id), column.position)

    def check(self, partition: tuple[Scalar, ...], order: tuple[SortKey, ...]) -> None:
        """Raises 42803 for a window's definition, used or not, that is not over the groups."""
        for value in (*partition, *(key.value for key in order)):
            self(value)

    def window(self, call: WindowCall) -> WindowCall:
        result = rewrite(call, lambda value: None if value is call else self._key(value))
        for column in columns(result):
            self._check(column)
        return result

    def lookup(self, pending: PendingLookup) -> PendingLookup:
        """A subquery over the groups: what it took from FROM has to be a column that is grouped by."""
        relation = rewrite(pending.relation, lambda value: self.keys.get(value) if _is_grouping(value) else None)
        for column in columns(relation):
            self._check(column)
        return replace(pending, relation=relation, keys=tuple((self(value), inner) for value, inner in pending.keys))


def _is_grouping(value: Scalar) -> bool:
    return isinstance(value, Call) and value.function == "grouping"


@dataclass(frozen=True, slots=True)
class Grouping:
    """`keys` are the distinct grouping expressions, `sets` the positions that each grouping set groups by."""

    keys: tuple[Scalar, ...]
    sets: Sets

    def apply(self, relation: Relation, block: Block) -> tuple[Relation, Replaced]:
        """The grouped relation, and how expressions refer to it."""
        source = frozenset(field.id for field in relation.fields)
        relation = unfold_series(block.attach(relation, block.inner_lookups), block.group_series)
        relation = _with_repeated(relation, block)
        key_fields = tuple(self._field(key, block) for key in self.keys)
        computed = [
            (field, key) for field, key in zip(key_fields, self.keys, strict=True) if not isinstance(key, Column)
        ]
        if computed:
            fields = (*relation.fields, *(field for field, _ in computed))
            values = (*(field.ref() for field in relation.fields), *(key for _, key in computed))
            relation = Project(fields, relation, values)
        keys = {key: Column(field.type, field.id) for key, field in zip(self.keys, key_fields, strict=True)}
        mapping: dict[Scalar, Scalar] = {key: column for key, column in keys.items() if key != column}
        if self.sets == (tuple(range(len(self.keys))),):
            grouped = self._one(relation, key_fields, self.sets[0], block)
            for call in _grouping_calls(block):
                mapping[call] = Constant(INT4, 0)
        else:
            grouped = self._many(relation, key_fields, block, mapping)
        output_ids = frozenset(field.id for field in grouped.fields)
        return grouped, Replaced(mapping, source, output_ids, column_namer(block))

    def _calls(self, chosen: tuple[int, ...], block: Block) -> tuple[AggregateCall, ...]:
        """The aggregates for one grouping set: the keys that it leaves out are NULL in direct arguments."""
        left_out = {key for index, key in enumerate(self.keys) if index not in chosen}

        def fixed(value: Scalar) -> Scalar | None:
            if isinstance(value, Call) and value.function == GROUP_VALUE:
                return rewrite(value.args[0], lambda part: Constant(part.type, None) if part in left_out else None)
            return None

        return tuple(rewrite(call, fixed) for call in block.aggregates)

    def _field(self, key: Scalar, block: Block) -> Field:
        return Field(key.id, key.type) if isinstance(key, Column) else block.environment.field(key.type)

    def _one(
        self, relation: Relation, key_fields: tuple[Field, ...], chosen: tuple[int, ...], block: Block
    ) -> Relation:
        keys = tuple(key_fields[index] for index in chosen)
        fields = (*keys, *block.aggregates.values())
        columns_ = tuple(Column(key.type, key.id) for key in keys)
        return Aggregate(fields, relation, columns_, self._calls(chosen, block))

    def _many(
        self, relation: Relation, key_fields: tuple[Field, ...], block: Block, mapping: dict[Scalar, Scalar]
    ) -> Relation:
        """One aggregation per set, their rows together; keys that a set leaves out are NULL."""
        calls = _grouping_calls(block)
        marks = {call: block.environment.field(INT4) for call in calls}
        mapping.update({call: mark.ref() for call, mark in marks.items()})
        outputs = (*key_fields, *block.aggregates.values(), *marks.values())
        union: Relation | None = None
        for chosen in self.sets:
            grouped = self._one(relation, key_fields, chosen, block)
            values = (
                *(
                    field.ref() if index in chosen else Constant(field.type, None)
                    for index, field in enumerate(key_fields)
                ),
                *(field.ref() for field in block.aggregates.values()),
                *(Constant(INT4, self._mark(call, chosen)) for call in calls),
            )
            branch_fields = tuple(block.environment.field(field.type) for field in outputs)
            branch = Project(branch_fields, grouped, values)
            union = (
                branch
                if union is None
                else SetOperation(
                    tuple(block.environment.field(field.type) for field in outputs), union, branch, "union", True
                )
            )
        if union is None:
            raise fault.invalid(fault.SYNTAX_ERROR, "GROUPING SETS is empty")
        return Project(outputs, union, tuple(field.ref() for field in union.fields))

    def _mark(self, call: Call, chosen: tuple[int, ...]) -> int:
        """One bit per argument of GROUPING, set when this grouping set leaves the argument out."""
        bits = 0
        for value in call.args:
            bits = bits * 2 + (0 if self.keys.index(value) in chosen else 1)
        return bits


def _with_repeated(relation: Relation, block: Block) -> Relation:
    """The rows with a column for each repeated output that is a key of its own."""
    if not block.repeated_keys:
        return relation
    columns_ = block.repeated_keys.values()
    fields = (*relation.fields, *(field for field, _ in columns_))
    return Project(fields, relation, (*(field.ref() for field in relation.fields), *(value for _, value in columns_)))


def _grouping_calls(block: Block) -> list[Call]:
    return list(block.grouping)


def bind_grouping(node: exp.Expr, block: Block) -> Grouping | None:
    """The GROUP BY clause; None without one."""
    clause = node.args.get("group")
    if clause is None:
        return None
    elements = [[part] for part in _elements(clause, Outputs(node, block), block)]
    if not elements:
        raise fault.invalid(fault.SYNTAX_ERROR, "GROUP BY names nothing", position_of(clause))
    combinations = 1
    for (element,) in elements:
        combinations *= len(element)
        if combinations > MAX_GROUPING_SETS:
            raise fault.unsupported(f"more than {MAX_GROUPING_SETS} grouping sets", position_of(clause))
    keys: dict[Scalar, int] = {}
    sets = []
    for chosen in itertools.product(*(element for (element,) in elements)):
        flat = [keys.setdefault(value, len(keys)) for part in chosen for value in part]
        sets.append(tuple(sorted(set(flat))))
    if clause.args.get("all") is False:  # GROUP BY DISTINCT; without either word there is no such argument.
        sets = list(dict.fromkeys(sets))
    for key in keys:
        require_hashable(key.type, position_of(clause))
    block.group_keys = list(keys)
    block.group_series, block.series = block.series, []
    return Grouping(tuple(keys), tuple(sets))


Element = list[tuple[Scalar, ...]]
"""One item of GROUP BY: the alternatives it stands for. A plain expression is one alternative."""


def _elements(clause: exp.Expr, outputs: Outputs, block: Block) -> list[Element]:
    elements: list[Element] = []
    parts = [
        *clause.expressions,
        *(part for name in ("rollup", "cube", "grouping_sets") for part in clause.args.get(name) or []),
    ]
    for part in parts:
        elements.append(_element(part, outputs, block))
    return elements


def _element(part: exp.Expr, outputs: Outputs, block: Block) -> Element:
    if isinstance(part, exp.Rollup):
        units = [_unit(item, outputs, block) for item in part.expressions]
        return [_concatenate(units[:count]) for count in range(len(units), -1, -1)]
    if isinstance(part, exp.Cube):
        units = [_unit(item, outputs, block) for item in part.expressions]
        if 2 ** len(units) > MAX_GROUPING_SETS:
            raise fault.unsupported(f"more than {MAX_GROUPING_SETS} grouping sets", position_of(part))
        masks = itertools.product((True, False), repeat=len(units))
        return [_concatenate([unit for unit, taken in zip(units, mask, strict=True) if taken]) for mask in masks]
    if isinstance(part, exp.GroupingSets):
        return [choice for item in part.expressions for choice in _element(item, outputs, block)]
    return [_unit(part, outputs, block)]


def _unit(part: exp.Expr, outputs: Outputs, block: Block) -> tuple[Scalar, ...]:
    if isinstance(part, exp.Tuple):
        return tuple(_key(item, outputs, block) for item in part.expressions)
    return (_key(part, outputs, block),)


def _concatenate(units: list[tuple[Scalar, ...]]) -> tuple[Scalar, ...]:
    return tuple(value for unit in units for value in unit)


def _key(part: exp.Expr, outputs: Outputs, block: Block) -> Scalar:
    """A grouping expression: an input column, else an output's name or position, else an expression."""
    with block.binding("GROUP BY", series=True):
        target = outputs.find(part)
        if target is None:
            return unknown_to_text(block.bind(part))
        value = unknown_to_text(target.bind(block))
        return _own_key(outputs.index(target), value, block) if outputs.is_repeated(target, value) else value


def _own_key(index: int, value: Scalar, block: Block) -> Scalar:
    """The key of an output that repeats an earlier one: grouped by on its own, so that a grouping set may have either
    (a sortgroupref in PostgreSQL belongs to the output, not to its expression)."""
    known = block.repeated_keys.get(index)
    if known is None:
        known = block.repeated_keys[index] = (block.environment.field(value.type), value)
    return known[0].ref()
