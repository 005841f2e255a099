"""The outputs of a select list, `*` written out, and which of them GROUP BY or ORDER BY means by a position or a name.

Source: findTargetlistEntrySQL92 in PostgreSQL's parse_clause.c.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.output_names import column_name
from query.bind.scope import Visible
from query.plan.tree import Column, Scalar
from query.syntax.identifiers import fold
from query.syntax.positions import operator_of, position_of


@dataclass(frozen=True, slots=True)
class Target:
    """One output: an expression as written, or a column that `*` stands for."""

    node: exp.Expr
    column: Visible | None = None

    @property
    def name(self) -> str:
        return column_name(self.node) if self.column is None else self.column.name

    def bind(self, block: Block) -> Scalar:
        """Its value."""
        if self.column is None:
            return block.bind(self.node.this if isinstance(self.node, exp.Alias) else self.node)
        return _placed(self.column.value, self.node)


def targets(node: exp.Expr, block: Block) -> list[Target]:
    """The outputs of a SELECT, in order."""
    return [target for item in node.expressions for target in _targets(item, block)]


def _targets(node: exp.Expr, block: Block) -> list[Target]:
    if isinstance(node, exp.Star):
        if not block.scope.item.sources:
            message = "SELECT * with no tables specified is not valid"
            raise fault.invalid(fault.SYNTAX_ERROR, message, position_of(node))
        return [Target(node, column) for column in block.scope.item.visible]
    star = _star_of(node.this if isinstance(node, exp.Alias) else node)
    if star is not None:
        return [Target(star, column) for column in _columns_of(star, block)]
    return [Target(node)]


def bind_list(nodes: Iterable[exp.Expr], block: Block) -> list[Scalar]:
    """The values of a row or of VALUES; `table.*` stands for one per column of the table."""
    return [value for node in nodes for value in _spread(node, block)]


def _spread(node: exp.Expr, block: Block) -> tuple[Scalar, ...]:
    star = _star_of(node)
    if star is None:
        return (block.bind(node),)
    return tuple(_placed(column.value, star) for column in _columns_of(star, block))


def _star_of(node: exp.Expr) -> exp.Column | None:
    """`table.*`, which brackets do not make a value in a list; None for anything else."""
    node = strip_brackets(node)
    return node if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else None


def _columns_of(star: exp.Column, block: Block) -> tuple[Visible, ...]:
    return block.scope.table(fold(star.args["table"]), position_of(star)).columns


def _placed(value: Scalar, node: exp.Expr) -> Scalar:
    """A column with the position of what stands for it."""
    return replace(value, position=position_of(node)) if isinstance(value, Column) else value


class Outputs:
    """The outputs of a select list, for GROUP BY to choose from."""

    def __init__(self, node: exp.Expr, block: Block) -> None:
        self._block = block
        self._targets = targets(node, block)
        self._named: dict[str, list[Target]] = {}
        for target in self._targets:
            self._named.setdefault(target.name, []).append(target)

    def find(self, node: exp.Expr) -> Target | None:
        """The output that a position means, or a name that no column of FROM has. Raises 42702 for a name of several
        outputs that differ."""
        index = output_position(node, len(self._targets), "GROUP BY")
        if index is not None:
            return self._targets[index]
        name = bare_name(node)
        if name is None or any(column.name == name for column in self._block.scope.item.visible):
            return None
        columns = self._named.get(name, [])
        if len(columns) > 1 and len({target.bind(self._block) for target in columns}) > 1:
            raise fault.invalid(fault.AMBIGUOUS_COLUMN, f'GROUP BY "{name}" is ambiguous', position_of(node))
        return columns[0] if columns else None

    def is_repeated(self, target: Target, value: Scalar) -> bool:
        """True for an output that an earlier one has the value of."""
        index = self._targets.index(target)
        return any(_is_plain(each.node) and each.bind(self._block) == value for each in self._targets[:index])

    def index(self, target: Target) -> int:
        return self._targets.index(target)


def _is_plain(node: exp.Expr) -> bool:
    """True for an output that GROUP BY may hold: binding it notes no aggregate, window or subquery."""
    return not any(node.find(kind) for kind in (exp.Window, exp.Query, exp.Anonymous, exp.Filter, exp.WithinGroup))


def strip_brackets(node: exp.Expr) -> exp.Expr:
    """An expression without the brackets around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def bare_name(node: exp.Expr) -> str | None:
    """The name that an expression is, if it is no more than one."""
    node = strip_brackets(node)
    plain = isinstance(node, exp.Column) and node.args.get("table") is None and not isinstance(node.this, exp.Star)
    return fold(node.this) if plain else None


def output_position(node: exp.Expr, outputs: int, clause: str) -> int | None:
    """The output, from 0, that a constant means by its position; None for what is no constant.

    Raises 42P10 for a position that is not there, 42601 for any other constant.
    """
    node = strip_brackets(node)
    negative = isinstance(node, exp.Neg)
    constant = strip_brackets(node.this) if negative else node
    if not isinstance(constant, exp.Literal | exp.Null | exp.Boolean) or (negative and constant.args.get("is_string")):
        return None
    start = operator_of(node) if negative else position_of(node)
    text = str(constant.this) if isinstance(constant, exp.Literal) and not constant.is_string else ""
    if not text.isdigit() or int(text) > MOST_POSITION:
        raise fault.invalid(fault.SYNTAX_ERROR, f"non-integer constant in {clause}", start)
    position = -int(text) if negative else int(text)
    if not 1 <= position <= outputs:
        message = f"{clause} position {position} is not in select list"
        raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, start)
    return position - 1


MOST_POSITION = 2**31 - 1
"""A larger constant is no integer to PostgreSQL's grammar."""
