"""One SELECT of a generated query: its sources, conditions, groups, windows and expressions."""

import random
from collections.abc import Mapping, Sequence
from typing import Final

from tests.oracle.harness.grammar import (
    AGGREGATES,
    ANY_TYPE,
    COMPARISONS,
    FRAMES,
    GROUPINGS,
    LITERALS,
    ORDERED_TYPES,
    TEMPLATES,
    WINDOWS,
)
from tests.oracle.harness.scopes import KEYS, LARGE, TABLES, WIDE, Columns, Reference, Scope
from tests.oracle.harness.tree import EMPTY, OPTIONAL, Node, fill, sequence, text

DEPTH: Final = 3
UNGROUPED: Final = frozenset({"jsonb", "text[]", "int8[]"})


class Blocks:
    """The choices of one query: what every block of it is made of."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._aliases = 0

    def _plain(self, kinds: Sequence[str]) -> Node:
        source, scope = self._source()
        distinct = text(OPTIONAL, "DISTINCT ") if self._random.random() < 0.15 else EMPTY
        items = sequence([self._named(self._expression(kind, scope), place) for place, kind in enumerate(kinds, 1)])
        return Node("query", ("SELECT ", 0, 1, " FROM ", 2, 3), (distinct, items, source, self._where(scope)))

    def _named(self, expression: Node, place: int) -> Node:
        return Node("item", (0, f" AS c{place}"), (expression,))

    def _where(self, scope: Scope) -> Node:
        if self._random.random() < 0.6:
            return EMPTY
        return Node(OPTIONAL, (" WHERE ", 0), (self._predicate(scope),))

    def _predicate(self, scope: Scope) -> Node:
        """A condition, sometimes with a subquery in it."""
        choice = self._random.random()
        if choice < 0.12:
            return self._exists(scope)
        if choice < 0.24:
            return self._membership(scope)
        return self._expression("bool", scope, 2)

    def _exists(self, scope: Scope) -> Node:
        source, inner = self._small_table()
        link = self._comparison(inner, scope)
        word = self._random.choice(("EXISTS", "NOT EXISTS"))
        return Node("bool", (f"{word} (SELECT 1 FROM ", 0, " WHERE ", 1, ")"), (source, link))

    def _membership(self, scope: Scope) -> Node:
        source, inner = self._small_table()
        if self._random.random() < 0.2:
            return self._row_membership(scope, source, inner)
        kind = self._random.choice(("int4", "text"))
        word = self._random.choice(("IN", "NOT IN", "= ANY"))
        parts = (0, f" {word} (SELECT ", 1, " FROM ", 2, 3, ")")
        children = (self._expression(kind, scope, 1), self._expression(kind, inner, 1), source, self._where(inner))
        return Node("bool", ("(", *parts, ")"), children)

    def _row_membership(self, scope: Scope, source: Node, inner: Scope) -> Node:
        word = self._random.choice(("IN", "NOT IN"))
        parts = ("((", 0, ", ", 1, f") {word} (SELECT ", 2, ", ", 3, " FROM ", 4, 5, "))")
        pairs = [self._expression(kind, side, 1) for side in (scope, inner) for kind in ("int4", "text")]
        return Node("bool", parts, (*pairs, source, self._where(inner)))

    def _comparison(self, left: Scope, right: Scope) -> Node:
        """A comparison across two scopes, mostly of bare columns."""
        kind = self._random.choice(("int4", "text", "int4", "date"))
        operator = self._random.choice(("=", "=", "=", "<", ">=", "IS NOT DISTINCT FROM"))
        children = (self._expression(kind, left, 0), self._expression(kind, right, 0))
        return Node("bool", ("(", 0, f" {operator} ", 1, ")"), children)

    def _grouped(self, kinds: Sequence[str]) -> Node:
        """The first columns are the groups, at least one of the others an aggregate."""
        source, scope = self._source()
        most = min(2, len(kinds) - 1)
        keys = 0
        while keys < most and kinds[keys] not in UNGROUPED and self._random.random() < 0.7:
            keys += 1
        items = [self._expression(kind, scope, 1) for kind in kinds[:keys]]
        items += [
            (self._outer_aggregate if self._random.random() < 0.15 else self._aggregate)(kind, scope)
            for kind in kinds[keys:]
        ]
        named = sequence([self._named(item, place) for place, item in enumerate(items, 1)])
        having = Node(OPTIONAL, (" HAVING ", 0), (self._having(scope),)) if self._random.random() < 0.2 else EMPTY
        children = (named, source, self._where(scope), self._group_by(keys), having)
        return Node("query", ("SELECT ", 0, " FROM ", 1, 2, 3, 4), children)

    def _group_by(self, groups: int) -> Node:
        if not groups:
            return EMPTY
        places = ", ".join(str(place) for place in range(1, groups + 1))
        return text(OPTIONAL, f" GROUP BY {self._random.choice(GROUPINGS).format(places)}")

    def _having(self, scope: Scope) -> Node:
        operator = self._random.choice((">", "<>", "<="))
        return Node("bool", ("(", 0, f" {operator} {self._random.randint(0, 9)})"), (self._aggregate("int8", scope),))

    def _aggregate(self, kind: str, scope: Scope) -> Node:
        if kind not in AGGREGATES:
            return fill(kind, CONSTANT_OF_AGGREGATES[kind], lambda hole: self._aggregate(hole, scope))
        template = self._random.choice(AGGREGATES[kind])
        return fill(kind, template, lambda hole: self._expression(hole, scope, 1))

    def _outer_aggregate(self, kind: str, scope: Scope) -> Node:
        """An aggregate in a subquery of one row: over the outer block's rows if it names its columns only."""
        alias = self._alias()
        parts = ("(SELECT ", 0, f" FROM services AS {alias} WHERE {alias}.tier = 0)")
        return Node(kind, parts, (self._aggregate(kind, scope),))

    def _windowed(self, kinds: Sequence[str]) -> Node:
        source, scope = self._source()
        if scope.key and self._random.random() < 0.35:
            return self._named_windows(kinds, source, scope)
        items = [
            self._window(kind, scope) if self._random.random() < 0.6 else self._expression(kind, scope, 1)
            for kind in kinds
        ]
        named = sequence([self._named(item, place) for place, item in enumerate(items, 1)])
        return Node("query", ("SELECT ", 0, " FROM ", 1, 2), (named, source, self._where(scope)))

    def _named_windows(self, kinds: Sequence[str], source: Node, scope: Scope) -> Node:
        """Aggregates over windows that build on named ones."""
        items = []
        for kind in kinds:
            templates = [each for each in AGGREGATES.get(kind, ()) if not any(word in each for word in NOT_WINDOWED)]
            if not templates:
                items.append(self._expression(kind, scope, 1))
                continue
            call = fill(kind, self._random.choice(templates), lambda hole: self._expression(hole, scope, 1))
            own = f"(w ORDER BY {scope.key}{self._random.choice(('', ' DESC'))} {self._random.choice(FRAMES)})"
            over = self._random.choice(("w", "v", "(v)", own))
            items.append(Node(kind, (0, f" OVER {over}"), (call,)))
        named = sequence([self._named(item, place) for place, item in enumerate(items, 1)])
        parts = ("SELECT ", 0, " FROM ", 1, 2, " WINDOW w AS (PARTITION BY ", 3, f"), v AS (w ORDER BY {scope.key})")
        return Node("query", parts, (named, source, self._where(scope), self._expression("bool", scope, 1)))

    def _window(self, kind: str, scope: Scope) -> Node:
        usable = [template for template in WINDOWS.get(kind, ()) if scope.key or "{key}" not in template]
        if not usable:
            return self._expression(kind, scope, 1)
        given = {"key": text("key", scope.key or "")}
        return fill(kind, self._random.choice(usable), lambda hole: self._expression(hole, scope, 1), given)

    def _source(self) -> tuple[Node, Scope]:
        choice = self._random.random()
        if choice < 0.25:
            return self._table(LARGE)
        if choice < 0.65:
            return self._small_table()
        if choice < 0.82:
            return self._join()
        simple = (self._subquery, self._lateral, self._values, self._merged_join)
        return self._random.choice((*simple, self._top, self._listed, self._bracketed))()

    def _small_table(self) -> tuple[Node, Scope]:
        return self._table(TABLES)

    def _table(self, tables: Mapping[str, Columns]) -> tuple[Node, Scope]:
        name = self._random.choice(sorted(tables))
        alias = self._alias()
        columns = tuple(self._reference(name, alias, column, kind) for column, kind in tables[name].items())
        key = KEYS.get(name)
        return text("source", f"{name} AS {alias}"), Scope(columns, f"{alias}.{key}" if key else None)

    def _reference(self, table: str, alias: str, column: str, kind: str) -> Reference:
        name = f"{alias}.{column}"
        return Reference(f"({name} % 1000)" if f"{table}.{column}" in WIDE else name, kind)

    def _join(self) -> tuple[Node, Scope]:
        (left, left_scope), (right, right_scope) = self._small_table(), self._small_table()
        word = self._random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN", "LEFT JOIN", "CROSS JOIN"))
        scope = Scope((*left_scope.columns, *right_scope.columns))
        if word == "CROSS JOIN":
            return Node("source", (0, " CROSS JOIN ", 1), (left, right)), scope
        condition = self._equality(left_scope, right_scope)
        return Node("source", (0, f" {word} ", 1, " ON ", 2), (left, right, condition)), scope

    def _equality(self, left: Scope, right: Scope) -> Node:
        """A join condition: FULL JOIN needs columns that are compared for equality."""
        pairs = [(a, b) for a in left.columns for b in right.columns if a.kind == b.kind and a.kind in ("int4", "text")]
        if not pairs:
            return text("bool", "(1 = 1)")
        first, second = self._random.choice(pairs)
        return text("bool", f"({first.sql} = {second.sql})")

    def _subquery(self) -> tuple[Node, Scope]:
        kinds = ["int4", "text", self._random.choice(ORDERED_TYPES), "bool"]
        body = self._random.choice((self._plain, self._grouped, self._windowed))(kinds)
        alias = self._alias()
        columns = tuple(Reference(f"{alias}.c{place}", kind) for place, kind in enumerate(kinds, 1))
        return Node("source", ("(", 0, f") AS {alias}"), (body,)), Scope(columns)

    def _lateral(self) -> tuple[Node, Scope]:
        """Each row of a table with aggregates over the rows of another one that it picks."""
        (left, scope), (right, inner), alias = self._small_table(), self._small_table(), self._alias()
        kinds = ("int8", "text", "int4")
        items = sequence([self._named(self._aggregate(kind, inner), place) for place, kind in enumerate(kinds, 1)])
        parts = (0, " CROSS JOIN LATERAL (SELECT ", 1, " FROM ", 2, " WHERE ", 3, f") AS {alias}")
        made = tuple(Reference(f"{alias}.c{place}", kind) for place, kind in enumerate(kinds, 1))
        children = (left, items, right, self._comparison(inner, scope))
        return Node("source", parts, children), Scope((*scope.columns, *made), scope.key)

    def _top(self) -> tuple[Node, Scope]:
        """Each row of a table with the first rows of another one that it picks."""
        (left, scope), alias = self._small_table(), self._alias()
        name = self._random.choice(("edge", "scalars"))
        right, inner = self._table({name: TABLES[name]})
        kinds = ("int4", "text")
        items = sequence([self._named(self._expression(kind, inner, 1), place) for place, kind in enumerate(kinds, 1)])
        forms = (("CROSS JOIN", ""), ("LEFT JOIN", " ON true"), ("LEFT JOIN", f" ON {alias}.c1 > 0"))
        word, condition = self._random.choice(forms)
        order = f"ORDER BY {inner.key}{self._random.choice(('', ' DESC'))}"
        cut = self._random.choice(("LIMIT 1", "LIMIT 2 OFFSET 1", "FETCH FIRST 2 ROWS WITH TIES"))
        parts = (0, f" {word} LATERAL (SELECT ", 1, " FROM ", 2, " WHERE ", 3, f" {order} {cut}) AS {alias}{condition}")
        made = tuple(Reference(f"{alias}.c{place}", kind) for place, kind in enumerate(kinds, 1))
        children = (left, items, right, self._comparison(inner, scope))
        return Node("source", parts, children), Scope((*scope.columns, *made))

    def _listed(self) -> tuple[Node, Scope]:
        """A comma, which binds looser than the joins on either side of it."""
        (first, first_scope), (second, second_scope) = self._small_table(), self._join()
        columns = (*first_scope.columns, *second_scope.columns)
        if self._random.random() < 0.5:
            return Node("source", (0, ", ", 1), (first, second)), Scope(columns)
        return Node("source", (0, ", ", 1), (second, first)), Scope(columns)

    def _bracketed(self) -> tuple[Node, Scope]:
        """A join inside of a join."""
        (left, left_scope), (right, right_scope) = self._small_table(), self._join()
        word = self._random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        condition = self._equality(left_scope, right_scope)
        scope = Scope((*left_scope.columns, *right_scope.columns))
        return Node("source", (0, f" {word} (", 1, ") ON ", 2), (left, right, condition)), scope

    def _values(self) -> tuple[Node, Scope]:
        alias = self._alias()
        kinds = ("int4", "text", self._random.choice(("numeric", "date", "float8", "timestamp")))
        rows = [
            "(" + ", ".join(self._random.choice(LITERALS[kind]) for kind in kinds) + ")"
            for _ in range(self._random.randint(1, 4))
        ]
        columns = tuple(Reference(f"{alias}.c{place}", kind) for place, kind in enumerate(kinds, 1))
        return text("source", f"(VALUES {', '.join(rows)}) AS {alias}(c1, c2, c3)"), Scope(columns)

    def _merged_join(self) -> tuple[Node, Scope]:
        """A join whose common column is one column of the result."""
        left_name, right_name = self._random.sample(("edge", "scalars", "docs"), 2)
        (left, left_scope), (right, right_scope) = (
            self._table({left_name: TABLES[left_name]}),
            self._table({right_name: TABLES[right_name]}),
        )
        word = self._random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        kind = "int8" if "docs" in (left_name, right_name) else "int4"
        rest = (column for column in (*left_scope.columns, *right_scope.columns) if not column.sql.endswith(".id"))
        scope = Scope((Reference("id", kind), *rest))
        return Node("source", (0, f" {word} ", 1, " USING (id)"), (left, right)), scope

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _expression(self, kind: str, scope: Scope, depth: int = DEPTH) -> Node:
        if kind == "small":
            return text(kind, self._random.choice(LITERALS[kind]))
        if depth <= 0 or self._random.random() < 0.25:
            return self._leaf(kind, scope)
        if kind in ORDERED_TYPES and depth > 1 and self._random.random() < 0.04:
            return self._scalar_subquery(kind, scope)
        template = self._template(kind)
        return fill(kind, template, lambda hole: self._expression(hole, scope, depth - 1))

    def _template(self, kind: str) -> str:
        if kind == "bool" and self._random.random() < 0.35:
            compared = self._random.choice(ORDERED_TYPES)
            return f"({{{compared}}} {self._random.choice(COMPARISONS)} {{{compared}}})"
        if kind == "bool" and self._random.random() < 0.1:
            return f"({{{self._random.choice(sorted(TEMPLATES))}}} IS {self._random.choice(('', 'NOT '))}NULL)"
        if self._random.random() < 0.15:
            return self._random.choice(ANY_TYPE).replace("{T}", f"{{{kind}}}")
        return self._random.choice(TEMPLATES[kind])

    def _leaf(self, kind: str, scope: Scope) -> Node:
        columns = [column.sql for column in scope.columns if column.kind == kind]
        if columns and self._random.random() < 0.85:
            return text(kind, self._random.choice(columns))
        return text(kind, self._random.choice(LITERALS[kind]))

    def _scalar_subquery(self, kind: str, scope: Scope) -> Node:
        """An aggregate, so one row at most; sometimes over rows that the outer row picks."""
        source, inner = self._small_table()
        if kind not in AGGREGATES:
            return self._leaf(kind, scope)
        aggregate = self._aggregate(kind, inner)
        correlated = self._random.random() < 0.6
        where = Node(OPTIONAL, (" WHERE ", 0), (self._comparison(inner, scope),)) if correlated else self._where(inner)
        return Node(kind, ("(SELECT ", 0, " FROM ", 1, 2, ")"), (aggregate, source, where))


CONSTANT_OF_AGGREGATES: Final[Mapping[str, str]] = {
    "jsonb": "to_jsonb({int8})",
    "int8[]": "ARRAY[{int8}]",
}
NOT_WINDOWED: Final = ("DISTINCT", "WITHIN", "ORDER BY")
"""What an aggregate over a window has not."""
