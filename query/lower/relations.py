"""Bound relations -> lazy frames, one generated statement per relational step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from query import fault
from query.expr.common_subexpressions import CommonSubexpressions
from query.expr.literals import series_of
from query.lower.aggregates import aggregate
from query.lower.filters import filter_rows
from query.lower.grouping_keys import distinct, first_rows, matched_sets
from query.lower.joins import join, lookup
from query.lower.recursion import ended_by_limit, recursive
from query.lower.scalars import expression, sort_value, with_values
from query.lower.statements import Statements, quote, quote_all
from query.lower.top_n_filter import is_stored, top_n_filter
from query.lower.windows import window
from query.pg.types import is_keyed
from query.plan.traverse import columns
from query.plan.tree import (
    Aggregate,
    Constant,
    CteRef,
    Distinct,
    Field,
    Filter,
    Join,
    Limit,
    LookupJoin,
    Materialized,
    Project,
    Recursive,
    Relation,
    Scalar,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    TopRows,
    Unnest,
    Values,
    Window,
    WorkTable,
)
from storage.exactly import exactly

Frames = Mapping[str, pl.LazyFrame]


@dataclass(slots=True)
class Lowering:
    """Lowers the relations of one statement. A relation used twice is lowered once."""

    tables: Frames
    statements: Statements
    work_tables: dict[str, pl.LazyFrame]
    done: dict[int, tuple[Relation, pl.LazyFrame]]

    def frame(self, relation: Relation) -> pl.LazyFrame:
        """The rows of a relation: columns named by their identifiers, in the order of its fields."""
        done = self.done.get(id(relation))
        if done is not None:
            return done[1]
        frame = self._lower(relation)
        self.done[id(relation)] = (relation, frame)
        return frame

    def _lower(self, relation: Relation) -> pl.LazyFrame:
        match relation:
            case Scan():
                return self.scan(relation)
            case Values():
                return self.rows(relation)
            case Project():
                return self.project(relation)
            case Filter():
                return self.filter(relation)
            case Join():
                return self.join(relation)
            case LookupJoin():
                return self.lookup(relation)
            case Aggregate():
                return self.aggregate(relation)
            case Window():
                return self.window(relation)
            case Distinct():
                return self.distinct(relation)
            case Sort():
                return self.sort(relation)
            case Limit():
                return self.limit(relation)
            case TopRows():
                return self.top_rows(relation)
            case Materialized():
                return self.materialized(relation)
            case SetOperation():
                return self.combine(relation)
            case Unnest():
                return self.unnest(relation)
            case Recursive():
                return self.recursive(relation)
            case WorkTable():
                return self.work_table(relation)
            case CteRef():
                return self.shared(relation)
            case _:
                raise fault.unsupported(type(relation).__name__)

    def scan(self, relation: Scan) -> pl.LazyFrame:
        table = self.tables[relation.dataset]
        return table.select(_read(name, field) for name, field in zip(relation.names, relation.fields, strict=True))

    def rows(self, relation: Values) -> pl.LazyFrame:
        """VALUES. A relation without columns has one row."""
        if not relation.fields:
            return pl.LazyFrame({"": pl.Series([0], dtype=pl.Int8)})
        constants = [all(isinstance(item, Constant) for item in row) for row in relation.rows]
        if all(constants):
            transposed = zip(*relation.rows, strict=True)
            return pl.LazyFrame(
                [
                    series_of([getattr(item, "value", None) for item in column], field.type).alias(field.id)
                    for column, field in zip(transposed, relation.fields, strict=True)
                ]
            )
        nothing = pl.LazyFrame({"": pl.Series([0], dtype=pl.Int8)})
        return pl.concat([self._row(nothing, row, relation) for row in relation.rows])

    def _row(self, nothing: pl.LazyFrame, items: Sequence[Scalar], relation: Values) -> pl.LazyFrame:
        """A row of VALUES with items to compute."""
        names = [field.id for field in relation.fields]
        return with_values(nothing, dict(zip(names, items, strict=True))).select(names)

    def project(self, relation: Project) -> pl.LazyFrame:
        frame = self.frame(relation.input)
        if not relation.fields:
            return frame
        subexpressions = CommonSubexpressions()
        values = [
            expression(value, subexpressions).alias(field.id)
            for value, field in zip(relation.values, relation.fields, strict=True)
        ]
        if not any(True for value in relation.values for _ in columns(value)):
            return _constants(subexpressions.add_to(frame), relation, values)
        return subexpressions.add_to(frame).select(values)

    def filter(self, relation: Filter) -> pl.LazyFrame:
        """Predicates are compiled, so that literals are plain and reach the scan's statistics."""
        self.statements.note("predicate")
        return filter_rows(self.frame(relation.input), relation.predicate)

    def join(self, relation: Join) -> pl.LazyFrame:
        return join(relation, self.frame(relation.left), self.frame(relation.right), self.statements)

    def lookup(self, relation: LookupJoin) -> pl.LazyFrame:
        return lookup(relation, self.frame(relation.left), self.frame(relation.right), self.statements)

    def aggregate(self, relation: Aggregate) -> pl.LazyFrame:
        return aggregate(relation, self.frame(relation.input), self.statements)

    def window(self, relation: Window) -> pl.LazyFrame:
        return window(relation, self.frame(relation.input), self.statements)

    def distinct(self, relation: Distinct) -> pl.LazyFrame:
        if relation.keys is not None:
            self.statements.note("DISTINCT ON")
            return first_rows(self.frame(relation.input), relation.keys, relation.fields)
        frame = self.frame(relation.input)
        if any(is_keyed(field.type) for field in relation.fields):
            self.statements.note("DISTINCT over intervals, arrays or JSON")
            return distinct(frame, relation.fields)
        name = self.statements.name(frame)
        return self.statements.run(f"SELECT DISTINCT {_columns(relation.fields)} FROM {name}")

    def top_rows(self, relation: TopRows) -> pl.LazyFrame:
        groups, value = [group.id for group in relation.groups], sort_value(relation.key.value)
        source, key, count = relation.input, relation.key, relation.count
        return top_n_filter(self.frame(source), groups, value, key, count, is_stored(source))

    def materialized(self, relation: Materialized) -> pl.LazyFrame:
        self.statements.note("grouping sets from the groups of the finest")
        return self.frame(relation.input).cache()

    def sort(self, relation: Sort) -> pl.LazyFrame:
        return self._sort(self.frame(relation.input), relation.fields, relation.keys, "")

    def _sort(
        self, frame: pl.LazyFrame, fields: tuple[Field, ...], keys: tuple[SortKey, ...], tail: str
    ) -> pl.LazyFrame:
        subexpressions = CommonSubexpressions()
        helpers, terms = [], []
        for index, key in enumerate(keys):
            column = getattr(key.value, "id", "")
            if not column or is_keyed(key.value.type):
                column = f"s{index}"
                helpers.append(sort_value(key.value, subexpressions).alias(column))
            direction = "DESC" if key.descending else "ASC"
            terms.append(f"{quote(column)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
        name = self.statements.name(subexpressions.add_to(frame).with_columns(helpers) if helpers else frame)
        return self.statements.run(f"SELECT {_columns(fields)} FROM {name} ORDER BY {', '.join(terms)}{tail}")

    def limit(self, relation: Limit) -> pl.LazyFrame:
        relation = ended_by_limit(relation)
        if relation.ties:
            return self._with_ties(relation)
        tail = "" if relation.count is None else f" LIMIT {relation.count}"
        tail += f" OFFSET {relation.offset}" if relation.offset else ""
        source = relation.input
        if isinstance(source, Sort) and tail and source.fields:
            return self._sort(self.frame(source.input), source.fields, source.keys, tail)
        frame = self.frame(source)
        if not tail or not relation.fields:
            return frame.slice(relation.offset, relation.count)
        return self.statements.run(f"SELECT {_columns(relation.fields)} FROM {self.statements.name(frame)}{tail}")

    def _with_ties(self, relation: Limit) -> pl.LazyFrame:
        """FETCH ... WITH TIES: rows up to the count, and those that sort equal to the last of them."""
        frame = self.frame(relation.input).slice(relation.offset, None).with_row_index("n")
        keys = [sort_value(key.value) for key in relation.ties]
        changed = pl.any_horizontal(key.ne_missing(key.shift(1)) for key in keys) | (pl.col("n") == 0)
        start = pl.when(changed).then(pl.col("n")).forward_fill()
        first_rows = frame.filter(start < (relation.count or 0))
        return first_rows.drop("n")

    def combine(self, relation: SetOperation) -> pl.LazyFrame:
        sides = [self._align(side, relation.fields) for side in (relation.left, relation.right)]
        keyed = any(is_keyed(field.type) for field in relation.fields)
        if relation.operator == "union" and (relation.all or keyed):
            both = pl.concat(sides)
            self.statements.note("UNION ALL")
            return both if relation.all else distinct(both, relation.fields)
        if relation.operator == "union":
            left, right = (self.statements.name(side) for side in sides)
            output_columns = _columns(relation.fields)
            text = f"SELECT {output_columns} FROM {left} UNION SELECT {output_columns} FROM {right}"
            return self.statements.run(text)
        self.statements.note(relation.operator.upper())
        return matched_sets(relation, sides)

    def _align(self, side: Relation, fields: tuple[Field, ...]) -> pl.LazyFrame:
        return self.frame(side).select(
            pl.col(field.id).alias(output.id) for field, output in zip(side.fields, fields, strict=False)
        )

    def unnest(self, relation: Unnest) -> pl.LazyFrame:
        """Arrays side by side, the shorter ones padded with NULL."""
        self.statements.note("unnest")
        outputs = relation.fields[len(relation.input.fields) :]
        frame = self.frame(relation.input)
        names = [field.id for field, _ in zip(outputs, relation.values, strict=False)]
        values = zip(outputs, relation.values, strict=False)
        frame = with_values(frame, {field.id: value for field, value in values})
        longest = pl.max_horizontal(pl.col(name).list.len().fill_null(0) for name in names)
        frame = frame.with_columns(longest.cast(pl.Int64).alias("n"))
        if not relation.outer:
            frame = frame.filter(pl.col("n") > 0)
        indexes = pl.int_ranges(0, pl.col("n"))
        padded = [
            pl.col(field.id).fill_null(pl.lit([], dtype=value.type.polars)).list.gather(indexes, null_on_oob=True)
            for field, value in zip(outputs, relation.values, strict=False)
        ]
        counter = [indexes.alias(outputs[-1].id)] if relation.ordinality else []
        exploded = frame.with_columns([*(padded if len(names) > 1 else []), *counter])
        exploded = exploded.explode(
            [*names, *(field.id for field in outputs[len(names) :])], empty_as_null=True, keep_nulls=True
        )
        if relation.ordinality:
            exploded = exploded.with_columns(pl.col(outputs[-1].id) + 1)
        return exploded.select([field.id for field in relation.fields])

    def recursive(self, relation: Recursive) -> pl.LazyFrame:
        self.statements.note("recursion")
        base = self.frame(relation.base).select(
            pl.col(source.id).alias(target.id)
            for source, target in zip(relation.base.fields, relation.fields, strict=False)
        )

        def step(work: pl.LazyFrame) -> pl.LazyFrame:
            inner = Lowering(self.tables, Statements(), {**self.work_tables, relation.table: work}, {})
            fields = relation.step.fields
            return inner.frame(relation.step).select(
                pl.col(source.id).alias(field.id) for source, field in zip(fields, relation.fields, strict=False)
            )

        return recursive(base, step, relation)

    def work_table(self, relation: WorkTable) -> pl.LazyFrame:
        frame = self.work_tables[relation.table]
        names = frame.collect_schema().names()
        return frame.select(pl.col(name).alias(field.id) for name, field in zip(names, relation.fields, strict=True))

    def shared(self, relation: CteRef) -> pl.LazyFrame:
        frame = self.frame(relation.input)
        pairs = zip(relation.input.fields, relation.fields, strict=True)
        return frame.select(pl.col(source.id).alias(field.id) for source, field in pairs)


def _read(name: str, field: Field) -> pl.Expr:
    """A stored column in the form in which the engine holds its type."""
    column = exactly(name)
    if field.type.name == "numeric":
        return column.to_physical().cast(pl.Int128).alias(field.id)
    return column.alias(field.id)


def _constants(frame: pl.LazyFrame, relation: Project, values: list[pl.Expr]) -> pl.LazyFrame:
    """Constants alone would give one row instead of one per input row."""
    if isinstance(relation.input, Values) and not relation.input.fields:
        return frame.select(values)
    return frame.with_columns(values).select([field.id for field in relation.fields])


def _columns(fields: tuple[Field, ...]) -> str:
    return quote_all([field.id for field in fields])
