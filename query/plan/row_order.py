"""The order in which a relation gives its rows, where an aggregate above it may depend on that."""

from query.pg.types import INT8
from query.plan.environment import Environment
from query.plan.tree import (
    CteRef,
    Filter,
    Limit,
    LookupJoin,
    Materialized,
    Project,
    Relation,
    SetOperation,
    Sort,
    SortKey,
    Unnest,
    Window,
    WindowCall,
)


def is_ordered(relation: Relation) -> bool:
    """Whether an ORDER BY decides the order of its rows, and nothing since has mixed them."""
    match relation:
        case Sort():
            return True
        case Project() | Filter() | Limit() | Unnest() | CteRef() | Materialized():
            return is_ordered(relation.input)
        case Window():
            return any(call.order for call in relation.calls) or is_ordered(relation.input)
        case LookupJoin():
            return is_ordered(relation.left)
        case SetOperation(operator="union", all=True):
            return is_ordered(relation.left) or is_ordered(relation.right)
    return False


def numbered(relation: Relation, environment: Environment) -> tuple[Relation, SortKey]:
    """The rows with their numbers in the order they have, and the key that sorts by these."""
    number = environment.field(INT8)
    call = WindowCall(INT8, "row_number", (), (), (), None)
    return Window((*relation.fields, number), relation, (call,)), SortKey(number.ref(), False, False)
