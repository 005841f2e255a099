"""The operator `@@`: a search in a text, or a path in a document."""

from typing import Final

from query import fault
from query.bind.type_resolution import call, coerce
from query.pg.types import TSQUERY, TSVECTOR
from query.plan.tree import Call, Constant, Scalar

_VECTOR: Final = "text vector(text)"


def bind_match(left: Scalar, right: Scalar, position: int | None) -> Scalar:
    """`vector @@ query`, `query @@ vector`. Where the text of the vector is at hand the vector is not made."""
    if left.type.category in ("S", "X") and right.type.category in ("S", "X"):
        hint = "write to_tsvector('simple', ...) @@ to_tsquery('simple', ...)"
        raise fault.unsupported("a full text configuration other than simple", position, hint)
    vector, query = (right, left) if right.type == TSVECTOR else (left, right)
    if vector.type != TSVECTOR:
        return call("@@", [left, right], position)
    query = coerce(query, TSQUERY, position)
    if not isinstance(query, Constant):
        raise fault.unsupported("a search that is not a constant", position)
    if isinstance(vector, Call) and vector.function == _VECTOR:
        return call("has lexemes", [vector.args[0], query], position)
    return call("vector matches", [vector, query], position)
