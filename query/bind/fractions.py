"""Fractions of percentiles: constants, or what is the same for all rows of a group."""

from dataclasses import replace

from sqlglot import exp

from query import fault
from query.bind.block import GROUP_VALUE, Block, require_grouped
from query.bind.lookups import PendingLookup
from query.bind.type_resolution import coerce
from query.pg.types import FLOAT8, array_of, implicit
from query.plan.traverse import columns, free_columns
from query.plan.tree import ArrayOf, Call, Constant, Project, Scalar, Values
from query.syntax.positions import position_of

_CHECK = "percentile fraction(float8)"


def bind_fraction(node: exp.Expr, name: str, block: Block) -> Scalar:
    """A direct argument of an aggregate: a constant, or over the keys of the groups and the values of subqueries.
    Raises 42803 for other columns."""
    with block.arguments_of(name):
        value, lookups = block.bind_apart(node)
        value = block.environment.fold(value)
        own = block.scope.item.identifiers()
        if lookups and any(column.id in own for column in columns(value)):
            raise fault.unsupported("a direct argument of a subquery and columns", position_of(node))
        if lookups:
            value = _looked_up(value, lookups, block, position_of(node))
            own = {column.id for column in columns(value)}
    if any(column.id not in own for column in columns(value)):
        raise fault.unsupported(f"an argument of {name} that depends on an outer query", position_of(node))
    require_grouped(value, block)
    return value


def bind_hypothetical(node: exp.Expr, name: str, block: Block) -> Scalar:
    """A value of a row that is not there, over the keys of the groups and the values of subqueries."""
    with block.arguments_of(name):
        value, lookups = block.bind_apart(node)
        own = block.scope.item.identifiers()
        for pending in lookups:
            if any(column.id in own for column in pending.references()):
                message = "a direct argument of a subquery that depends on other rows"
                raise fault.unsupported(message, position_of(node))
            block.look_up(pending)
    require_grouped(value, block)
    return value


def _looked_up(value: Scalar, lookups: list[PendingLookup], block: Block, position: int | None) -> Scalar:
    """The columns of values that are computed in a relation of its own, of one row. An aggregate of no rows without
    GROUP BY looks at its fraction too, though not at an array of them; groups that do not exist have none."""
    values = value.items if isinstance(value, ArrayOf) else (value,)
    if not block.group_keys and not isinstance(value, ArrayOf):
        values = (_checked(value, position),)
    fields = tuple(block.environment.field(item.type) for item in values)
    relation = Project(fields, block.attach(Values((), ((),)), lookups), values)
    if free_columns(relation):
        raise fault.unsupported("a direct argument of a subquery that depends on other rows", position)
    block.look_up(PendingLookup(relation))
    references = tuple(field.ref() for field in fields)
    return replace(value, items=references) if isinstance(value, ArrayOf) else references[0]


def _checked(value: Scalar, position: int | None) -> Scalar:
    if not implicit(value.type, FLOAT8):
        return value
    return Call(FLOAT8, _CHECK, (coerce(value, FLOAT8, position),), position)


def checked_fraction(value: Scalar, position: int | None) -> Scalar:
    """The fraction, or the array of them, as float8. Those that are computed and none fail by row."""
    if isinstance(value, ArrayOf):
        items = tuple(coerce(item, FLOAT8, position) for item in value.items)
        constants = tuple(item.value for item in items if isinstance(item, Constant))
        if len(constants) < len(items):
            return ArrayOf(array_of(FLOAT8), tuple(_by_row(item, position) for item in items))
        value = Constant(array_of(FLOAT8), constants)
    converted = coerce(value, array_of(FLOAT8) if value.type.element is not None else FLOAT8, position)
    return converted if isinstance(converted, Constant) else _by_row(converted, position)


def require_fraction(value: Scalar, position: int | None) -> None:
    """Raises 22003 for a constant that is none, of an aggregate that looks at it whatever rows there are."""
    if isinstance(value, Constant) and isinstance(value.value, float) and not 0 <= value.value <= 1:
        message = f"percentile value {value.value:g} is not between 0 and 1"
        raise fault.invalid(fault.NUMERIC_OUT_OF_RANGE, message, position)


def _by_row(value: Scalar, position: int | None) -> Scalar:
    if value.type.element is not None:
        raise fault.unsupported("an array of percentile fractions that is not a constant", position)
    return Call(FLOAT8, _CHECK, (Call(FLOAT8, GROUP_VALUE, (value,)),), position)
