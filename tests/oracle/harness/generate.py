"""Random queries over the oracle's tables: typed, seeded, and with an answer that does not depend on the plan."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.oracle.harness.blocks import Blocks
from tests.oracle.harness.grammar import ORDERED_TYPES, RISKY, TEMPLATES
from tests.oracle.harness.scopes import TABLES, Reference, Scope
from tests.oracle.harness.tree import EMPTY, OPTIONAL, Node, fill, sequence, text

ORDERED: Final = "ordered"


@dataclass(frozen=True)
class Generated:
    """A query as its tree, which the minimiser cuts."""

    tree: Node

    @property
    def sql(self) -> str:
        return self.tree.sql()

    @property
    def ordered(self) -> bool:
        """Whether the query orders its rows. Every order the generator writes is total, so part of the answer."""
        return self.tree.kind == ORDERED and bool(self.tree.children[1].sql())


def generate(seed: int) -> Generated:
    """The query of this seed."""
    return _Generator(random.Random(seed)).query()


class _Generator(Blocks):
    """One query's worth of choices."""

    def query(self) -> Generated:
        kinds = self._output_kinds()
        choice = self._random.random()
        if choice < 0.06:
            return Generated(self._risky())
        sortable = [kind for kind in kinds if kind in ORDERED_TYPES or kind == "bool"] or ["int4"]
        if choice < 0.12:
            return Generated(self._distinct_on(sortable))
        if choice < 0.22:
            make = self._random.choice((self._combined, self._combined, self._nested))
            return self._order(make(sortable), len(sortable))
        if choice < 0.25:
            return self._order(self._recursive(), 2)
        make = self._random.choices((self._plain, self._grouped, self._windowed, self._with), (30, 30, 20, 10))[0]
        return self._order(make(kinds), len(kinds))

    def _risky(self) -> Node:
        """An expression that may fail, computed for every row of a table: no plan can avoid the error."""
        source, scope = self._small_table()
        risk = fill("risky", self._random.choice(RISKY), lambda hole: self._expression(hole, scope, 1))
        return Node("query", ("SELECT ", 0, " FROM ", 1), (self._named(risk, 1), source))

    def _distinct_on(self, kinds: Sequence[str]) -> Node:
        """The first row of each value of the first column, the rows being ordered by all columns."""
        order = ", ".join(f"q.c{place}{self._direction()}" for place in range(1, len(kinds) + 1))
        clause = text("order", f" ORDER BY {order}")
        return Node(ORDERED, ("SELECT DISTINCT ON (q.c1) * FROM (", 0, ") AS q", 1), (self._plain(kinds), clause))

    def _output_kinds(self) -> list[str]:
        kinds = [kind for kind in TEMPLATES if kind != "jsonb"]
        return [self._random.choice(kinds) for _ in range(self._random.randint(1, 4))]

    def _order(self, body: Node, width: int) -> Generated:
        """Order by every column, so that equal rows are the only peers; perhaps cut the rows."""
        if self._random.random() < 0.4:
            return Generated(body)
        named = self._random.random() < 0.2
        places = [text("place", f"{'c' * named}{place}{self._direction()}") for place in range(1, width + 1)]
        self._random.shuffle(places)
        limit = text(OPTIONAL, f" LIMIT {self._random.randint(1, 20)}") if self._random.random() < 0.4 else EMPTY
        offset = text(OPTIONAL, f" OFFSET {self._random.randint(1, 5)}") if self._random.random() < 0.2 else EMPTY
        clause = Node(OPTIONAL, (" ORDER BY ", 0, 1, 2), (sequence(places), limit, offset))
        if self._random.random() < 0.15:
            body = Node("query", ("(", 0, ")"), (body,))
        return Generated(Node(ORDERED, (0, 1), (body, clause)))

    def _direction(self) -> str:
        return self._random.choice(("", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC"))

    def _combined(self, kinds: Sequence[str]) -> Node:
        word = self._random.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"))
        parts = ("SELECT * FROM (", 0, f" {word} ", 1, ") AS u")
        return Node("query", parts, (self._plain(kinds), self._plain(kinds)))

    def _nested(self, kinds: Sequence[str]) -> Node:
        """Three branches, the first with an order and a limit of its own."""
        words = [self._random.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL")) for _ in range(2)]
        order = ", ".join(str(place) for place in range(1, len(kinds) + 1))
        parts = ("SELECT * FROM ((", 0, f" ORDER BY {order} LIMIT 7) {words[0]} ", 1, f" {words[1]} ", 2, ") AS u")
        return Node("query", parts, (self._plain(kinds), self._plain(kinds), self._plain(kinds)))

    def _recursive(self) -> Node:
        """A few rounds that count up from the keys of a small table."""
        source, scope = self._table({"edge": TABLES["edge"]})
        rows = Scope((Reference("r.c1", "int4"), Reference("r.c2", "text")))
        join, step = EMPTY, rows
        if self._random.random() < 0.4:
            joined, other = self._table({"edge": TABLES["edge"]})
            word = self._random.choice(("JOIN", "LEFT JOIN"))
            join = Node(OPTIONAL, (f" {word} ", 0, f" ON {other.key} = r.c1 + 1"), (joined,))
            step = Scope((*rows.columns, *other.columns))
        word = self._random.choice(("UNION", "UNION ALL"))
        parts = (
            *(
                "WITH RECURSIVE r(c1, c2) AS (SELECT ",
                f"{scope.key}, ",
                0,
                " FROM ",
                1,
                2,
                f" {word} SELECT r.c1 + 3, ",
            ),
            *(3, " FROM r", 4, " WHERE r.c1 < 9) SELECT ", 5, " AS c1, ", 6, " AS c2 FROM r", 7),
        )
        base = Node("text", ("(", 0, ")::text"), (self._expression("text", scope, 1),))
        again = self._expression("text", step, 1)
        outputs = (self._expression("int4", rows, 1), self._expression("text", rows, 1))
        return Node("query", parts, (base, source, self._where(scope), again, join, *outputs, self._where(rows)))

    def _with(self, kinds: Sequence[str]) -> Node:
        inner_kinds = ["int4", "text", self._random.choice(ORDERED_TYPES)]
        inner = self._random.choice((self._plain, self._grouped))(inner_kinds)
        columns = tuple(Reference(f"w.c{place}", kind) for place, kind in enumerate(inner_kinds, 1))
        scope = Scope(columns)
        items = sequence([self._named(self._expression(kind, scope, 2), place) for place, kind in enumerate(kinds, 1)])
        return Node("query", ("WITH w AS (", 0, ") SELECT ", 1, " FROM w", 2), (inner, items, self._where(scope)))
