"""Correlated subqueries -> joins, by the dependent join on the distinct outer values.

A relation that refers to columns of an enclosing query is evaluated once for every distinct combination of those
values: the combinations (the domain) are joined in where the reference stands, and everything above keeps them
apart. Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015.
"""

from dataclasses import replace

from query import fault
from query.pg.types import BOOL, INT8
from query.plan.environment import Environment
from query.plan.row_order import is_ordered, numbered
from query.plan.traverse import free_columns, substitute_columns
from query.plan.tree import (
    Aggregate,
    AggregateCall,
    Call,
    Coalesce,
    Column,
    Constant,
    CteRef,
    Distinct,
    Field,
    Filter,
    Join,
    Limit,
    Logic,
    LookupJoin,
    Project,
    Relation,
    Scalar,
    SetOperation,
    Sort,
    SortKey,
    Unnest,
    Values,
    Window,
    WindowCall,
)

ZERO_WHEN_EMPTY = ("count", "regr_count", "approx_count_distinct")


def decorrelate(
    inner: Relation, outer: Relation, environment: Environment
) -> tuple[Relation, tuple[tuple[Scalar, Column], ...]]:
    """`inner` without references to `outer`, and the keys that join them: outer column, inner column."""
    outer_ids = {field.id for field in outer.fields}
    free = [column for column in free_columns(inner) if column.id in outer_ids]
    if not free:
        return inner, ()
    pusher = _Pusher(outer, free, environment)
    relation, mapping = pusher.push(inner)
    keys = tuple((column, Column(column.type, mapping[column.id])) for column in free)
    return relation, keys


Mapping = dict[str, str]
"""Outer identifier -> the identifier under which a pushed relation carries the value."""


class _Pusher:
    def __init__(self, outer: Relation, free: list[Column], environment: Environment) -> None:
        self._outer = outer
        self._free = free
        self._environment = environment

    def _domain(self) -> tuple[Relation, Mapping]:
        """The distinct outer values under fresh names."""
        domain = tuple(self._environment.field(column.type) for column in self._free)
        projected = Project(domain, self._outer, tuple(self._free))
        return Distinct(domain, projected), {old.id: new.id for old, new in zip(self._free, domain, strict=True)}

    def _fields(self, mapping: Mapping) -> tuple[Field, ...]:
        return tuple(Field(mapping[column.id], column.type) for column in self._free)

    def _refs(self, mapping: Mapping) -> dict[str, Scalar]:
        return {column.id: Column(column.type, mapping[column.id]) for column in self._free}

    def _columns(self, mapping: Mapping) -> tuple[Column, ...]:
        return tuple(Column(column.type, mapping[column.id]) for column in self._free)

    def _depends(self, relation: Relation) -> bool:
        wanted = {column.id for column in self._free}
        return any(column.id in wanted for column in free_columns(relation))

    def push(self, relation: Relation) -> tuple[Relation, Mapping]:
        """`relation` for every row of the domain; the result carries the domain's columns too."""
        if not self._depends(relation):
            return self._beside_domain(relation, None)
        match relation:
            case Values():
                return self._rows(relation)
            case Project():
                return self._project(relation)
            case Filter():
                return self._filter(relation)
            case Join():
                return self._join(relation)
            case Aggregate():
                return self._aggregate(relation)
            case Distinct():
                return self._distinct(relation)
            case Sort():
                return self._sort(relation)
            case Limit():
                return self._limit(relation)
            case Window():
                return self._window(relation)
            case SetOperation():
                return self._combine(relation)
            case Unnest():
                return self._unnest(relation)
            case LookupJoin():
                return self._lookup(relation)
            case CteRef():
                return self._push_shared(relation)
            case _:
                raise fault.unsupported(f"a correlated subquery over {type(relation).__name__.lower()}")

    def _beside_domain(self, relation: Relation, predicate: Scalar | None) -> tuple[Relation, Mapping]:
        """Rows that do not depend on the domain, with each of its rows; in the order they had, which a join loses."""
        domain, mapping = self._domain()
        condition = None if predicate is None else substitute_columns(predicate, self._refs(mapping))
        if not is_ordered(relation):
            return Join((*relation.fields, *domain.fields), relation, domain, "inner", condition), mapping
        rows, number = numbered(relation, self._environment)
        joined = Join((*rows.fields, *domain.fields), rows, domain, "inner", condition)
        return Sort(joined.fields, joined, (number,)), mapping

    def _rows(self, relation: Values) -> tuple[Relation, Mapping]:
        """VALUES over outer columns: each row once per outer value."""
        domain, mapping = self._domain()
        refs = self._refs(mapping)
        fields = (*relation.fields, *domain.fields)
        union: Relation | None = None
        for row in relation.rows:
            outputs = tuple(self._environment.field(field.type) for field in fields)
            values = (*(substitute_columns(item, refs) for item in row), *(field.ref() for field in domain.fields))
            branch = Project(outputs, domain, values)
            merged = tuple(self._environment.field(field.type) for field in fields)
            union = branch if union is None else SetOperation(merged, union, branch, "union", True)
        if union is None:
            raise fault.unsupported("a correlated subquery without rows")
        back = tuple(self._environment.field(field.type) for field in domain.fields)
        renaming = {old: new.id for (old, _), new in zip(mapping.items(), back, strict=True)}
        return Project((*relation.fields, *back), union, tuple(field.ref() for field in union.fields)), renaming

    def _project(self, relation: Project) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        values = tuple(substitute_columns(value, self._refs(mapping)) for value in relation.values)
        fresh = tuple(self._environment.field(column.type) for column in self._free)
        renaming = {column.id: field.id for column, field in zip(self._free, fresh, strict=True)}
        return Project((*relation.fields, *fresh), child, (*values, *self._columns(mapping))), renaming

    def _filter(self, relation: Filter) -> tuple[Relation, Mapping]:
        if not self._depends(relation.input):
            return self._beside_domain(relation.input, relation.predicate)
        child, mapping = self.push(relation.input)
        return Filter(child.fields, child, substitute_columns(relation.predicate, self._refs(mapping))), mapping

    def _join(self, relation: Join) -> tuple[Relation, Mapping]:
        left_depends, right_depends = self._depends(relation.left), self._depends(relation.right)
        if relation.kind in ("inner", "left", "semi", "anti") and not right_depends:
            left, mapping = self.push(relation.left)
            return self._join_on_domain(relation, left, relation.right, mapping, None), mapping
        if relation.kind == "inner" and not left_depends:
            right, mapping = self.push(relation.right)
            return self._join_on_domain(relation, relation.left, right, mapping, None), mapping
        left, mapping = self.push(relation.left)
        right, right_mapping = self.push(relation.right)
        joined = self._join_on_domain(relation, left, right, mapping, right_mapping)
        return self._whole(joined, mapping, right_mapping) if relation.kind == "full" else (joined, mapping)

    def _whole(self, joined: Relation, left: Mapping, right: Mapping) -> tuple[Relation, Mapping]:
        """A full join's rows with the outer values of whichever side there is."""
        sides = zip(self._columns(left), self._columns(right), strict=True)
        values = tuple(Coalesce(a.type, (a, b)) for a, b in sides)
        outputs = tuple(self._environment.field(value.type) for value in values)
        columns = tuple(field.ref() for field in joined.fields)
        fresh = {column.id: field.id for column, field in zip(self._free, outputs, strict=True)}
        return Project((*joined.fields, *outputs), joined, (*columns, *values)), fresh

    def _join_on_domain(
        self, relation: Join, left: Relation, right: Relation, mapping: Mapping, other: Mapping | None
    ) -> Relation:
        condition = (
            substitute_columns(relation.condition, self._refs(mapping)) if relation.condition is not None else None
        )
        if other is not None:
            equal = [same(a, b) for a, b in zip(self._columns(mapping), self._columns(other), strict=True)]
            condition = Logic(BOOL, "and", (*equal, *([condition] if condition is not None else [])))
        fields = left.fields if relation.kind in ("semi", "anti") else (*left.fields, *right.fields)
        return Join(fields, left, right, relation.kind, condition)

    def _aggregate(self, relation: Aggregate) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        calls = tuple(substitute_columns(call, self._refs(mapping)) for call in relation.calls)
        keys = (*self._columns(mapping), *relation.keys)
        grouped = Aggregate((*self._fields(mapping), *relation.fields), child, keys, calls)
        return (grouped, mapping) if relation.keys else self._with_empty_groups(relation, grouped, mapping)

    def _with_empty_groups(self, relation: Aggregate, grouped: Relation, mapping: Mapping) -> tuple[Relation, Mapping]:
        """An aggregate without GROUP BY has a row for outer values that match nothing: count 0, the others NULL."""
        domain, outer_mapping = self._domain()
        keys = tuple(zip(self._columns(outer_mapping), self._columns(mapping), strict=True))
        looked_up = LookupJoin((*domain.fields, *grouped.fields), domain, grouped, keys, "left", False)
        fresh = tuple(self._environment.field(field.type) for field in relation.fields)
        values = [_or_zero(call, field) for call, field in zip(relation.calls, relation.fields, strict=True)]
        renamed_fields = (*fresh, *domain.fields)
        projected = Project(renamed_fields, looked_up, (*values, *self._columns(outer_mapping)))
        back = Project((*relation.fields, *domain.fields), projected, tuple(field.ref() for field in renamed_fields))
        return back, outer_mapping

    def _distinct(self, relation: Distinct) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        keys = (*self._columns(mapping), *relation.keys) if relation.keys is not None else None
        return Distinct(child.fields, child, keys), mapping

    def _sort(self, relation: Sort) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        return Sort(
            child.fields, child, tuple(substitute_columns(key, self._refs(mapping)) for key in relation.keys)
        ), mapping

    def _limit(self, relation: Limit) -> tuple[Relation, Mapping]:
        """LIMIT per outer value: a row number in the sort order within each."""
        keys: tuple[SortKey, ...] = ()
        source = relation.input
        if isinstance(source, Project) and isinstance(source.input, Sort):
            pushed, mapping = self._project_over_sort(source, source.input)
            keys = pushed[1]
            child = pushed[0]
        elif isinstance(source, Sort):
            child, mapping = self.push(source.input)
            keys = tuple(substitute_columns(key, self._refs(mapping)) for key in source.keys)
        else:
            child, mapping = self.push(source)
        names = ("row_number", "rank") if relation.ties else ("row_number",)
        numbers = tuple(self._environment.field(INT8) for _ in names)
        calls = tuple(WindowCall(INT8, name, (), self._columns(mapping), keys, None) for name in names)
        numbered: Relation = Window((*child.fields, *numbers), child, calls)
        tests: list[Scalar] = []
        if relation.offset:
            tests.append(Call(BOOL, ">(any, any)", (numbers[0].ref(), Constant(INT8, relation.offset))))
        if relation.count is not None:
            last = Constant(INT8, relation.offset + relation.count)
            tests.append(Call(BOOL, "<=(any, any)", (numbers[-1].ref(), last)))
        if tests:
            numbered = Filter(numbered.fields, numbered, Logic(BOOL, "and", tuple(tests)))
        return numbered, mapping

    def _project_over_sort(self, project: Project, sort: Sort) -> tuple[tuple[Relation, tuple[SortKey, ...]], Mapping]:
        child, mapping = self.push(sort.input)
        keys = tuple(substitute_columns(key, self._refs(mapping)) for key in sort.keys)
        hidden = tuple(self._environment.field(key.value.type) for key in keys)
        fresh = tuple(self._environment.field(column.type) for column in self._free)
        values = tuple(substitute_columns(value, self._refs(mapping)) for value in project.values)
        fields = (*project.fields, *hidden, *fresh)
        projection = Project(fields, child, (*values, *(key.value for key in keys), *self._columns(mapping)))
        renaming = {column.id: new.id for column, new in zip(self._free, fresh, strict=True)}
        sort_keys = tuple(replace(key, value=field.ref()) for key, field in zip(keys, hidden, strict=True))
        return (projection, sort_keys), renaming

    def _window(self, relation: Window) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        domain = self._columns(mapping)
        calls = tuple(
            replace(substitute_columns(call, self._refs(mapping)), partition=(*domain, *call.partition))
            for call in relation.calls
        )
        added = relation.fields[len(relation.input.fields) :]
        return Window((*child.fields, *added), child, calls), mapping

    def _combine(self, relation: SetOperation) -> tuple[Relation, Mapping]:
        sides = []
        for side in (relation.left, relation.right):
            child, mapping = self.push(side)
            values = (*(field.ref() for field in side.fields), *self._columns(mapping))
            fields = tuple(self._environment.field(column.type) for column in values)
            sides.append(Project(fields, child, values))
        fresh = tuple(self._environment.field(column.type) for column in self._free)
        combined = SetOperation((*relation.fields, *fresh), sides[0], sides[1], relation.operator, relation.all)
        return combined, {column.id: new.id for column, new in zip(self._free, fresh, strict=True)}

    def _unnest(self, relation: Unnest) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        added = relation.fields[len(relation.input.fields) :]
        values = tuple(substitute_columns(value, self._refs(mapping)) for value in relation.values)
        return replace(relation, fields=(*child.fields, *added), input=child, values=values), mapping

    def _lookup(self, relation: LookupJoin) -> tuple[Relation, Mapping]:
        left, mapping = self.push(relation.left)
        keys = tuple((substitute_columns(a, self._refs(mapping)), b) for a, b in relation.keys)
        right = relation.right
        if self._depends(right):
            right, other = self.push(right)
            keys = (*keys, *zip(self._columns(mapping), self._columns(other), strict=True))
        return replace(relation, fields=(*left.fields, *right.fields), left=left, right=right, keys=keys), mapping

    def _push_shared(self, relation: CteRef) -> tuple[Relation, Mapping]:
        child, mapping = self.push(relation.input)
        fresh = tuple(self._environment.field(column.type) for column in self._free)
        values = (*(field.ref() for field in relation.input.fields), *self._columns(mapping))
        return Project((*relation.fields, *fresh), child, values), {
            column.id: field.id for column, field in zip(self._free, fresh, strict=True)
        }


def _or_zero(call: AggregateCall, output: Field) -> Scalar:
    if call.function in ZERO_WHEN_EMPTY:
        return Coalesce(output.type, (output.ref(), Constant(output.type, 0)))
    return output.ref()


def same(left: Scalar, right: Scalar) -> Scalar:
    """NULL-safe equality."""
    return Call(BOOL, "is not distinct from(any, any)", (left, right))
