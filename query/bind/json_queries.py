"""JSON_VALUE, JSON_QUERY and JSON_EXISTS (PostgreSQL documentation, 9.16.3): a path's result, and what stands for it
where there is none or it fails."""

from typing import Final

from sqlglot import exp

from query import fault
from query.bind import operators
from query.bind.block import Block
from query.bind.operators import comparison
from query.bind.type_names import TypeName, type_name
from query.bind.type_resolution import call, coerce
from query.functions.json_queries import EMPTY, FAILED
from query.functions.registry import syntax
from query.pg.types import BOOL, INT4, JSONB, JSONPATH, TEXT, PgType
from query.plan.traverse import columns
from query.plan.tree import Case, Coalesce, Constant, IsNull, Logic, Not, Scalar, truth
from query.syntax.json_queries import JsonQuery
from query.syntax.positions import position_of

_PASSED: Final = ("text", "bool", "jsonb", "int2", "int4", "int8", "numeric")
_TRUTHS: Final = {"true": True, "false": False, "unknown": None}
_EMPTY_VALUES: Final = {"empty array": "[]", "empty object": "{}"}
_BEHAVIOURS: Final = {
    "json_value": ("null", "error"),
    "json_query": ("null", "error", *_EMPTY_VALUES),
    "json_exists": (*_TRUTHS, "error"),
}


@syntax(JsonQuery, form="JSON_VALUE(a, path), JSON_QUERY(a, path), JSON_EXISTS(a, path)", summary="What a path finds.")
def bind_json_query(node: exp.Expr, block: Block) -> Scalar:
    """With PASSING, RETURNING, WRAPPER, QUOTES, ON EMPTY and ON ERROR."""
    _check(node)
    found = [_document(node, block), _path(node, block), _variables(node, block)]
    if _function(node) == "json_exists":
        return _exists(node, found)
    target = _returned(node)
    return _value(node, found, target, block)


def _function(node: exp.Expr) -> str:
    return str(node.args["function"].this)


def _check(node: exp.Expr) -> None:
    """Raises 42601 for clauses that the function has not."""
    function = _function(node)
    words = [node.args[name] for name in ("on_empty", "on_error") if isinstance(node.args.get(name), exp.Var)]
    wrong = [str(word.this) for word in words if str(word.this) not in _BEHAVIOURS[function]]
    wrong += [name for name in ("wrapper", "quotes") if node.args.get(name) and function != "json_query"]
    if function == "json_exists":
        wrong += [name for name in ("returning", "on_empty") if node.args.get(name)]
        wrong += ["DEFAULT"] if node.args.get("on_error") and _word(node, "on_error") is None else []
    if function == "json_value" and node.args.get("format"):
        wrong.append("FORMAT JSON")
    if node.args.get("wrapper") and _word(node, "quotes") == "omit":
        wrong.append("OMIT QUOTES beside a wrapper")
    if wrong:
        raise fault.invalid(fault.SYNTAX_ERROR, f"{wrong[0]} in {function.upper()}()", position_of(node))


def _document(node: exp.Expr, block: Block) -> Scalar:
    document = block.bind(node.this)
    if document.type.name in ("text", "json", "bpchar"):
        return operators.cast(document, TypeName(JSONB, "jsonb"), position_of(node))
    if document.type.name == "bytea":
        raise fault.unsupported(f"{_function(node)} of bytea", position_of(node))
    return coerce(document, JSONB, position_of(node))


def _path(node: exp.Expr, block: Block) -> Scalar:
    path = block.bind(node.args["path"])
    if path.type.name == "unknown":
        path = coerce(path, JSONPATH, position_of(node))
    if not isinstance(path, Constant) or path.type.name == "text":
        raise fault.unsupported("a path that is not a constant", position_of(node))
    if path.type != JSONPATH:
        message = f"JSON path expression must be of type jsonpath, not of type {path.type.sql_name}"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position_of(node))
    return path


def _variables(node: exp.Expr, block: Block) -> Scalar:
    """An object of what PASSING names."""
    members: list[Scalar] = []
    for alias in node.args.get("passing") or []:
        value = block.bind(alias.this)
        if value.type.name == "unknown":
            value = coerce(value, TEXT)
        if value.type.name not in _PASSED:
            raise fault.unsupported(f"passing a value of type {value.type.sql_name}", position_of(node))
        members += [Constant(TEXT, _name(alias.args["alias"])), value]
    return call("jsonb_build_object", members) if members else Constant(JSONB, "{}")


def _name(identifier: exp.Expr) -> str:
    return str(identifier.this) if identifier.args.get("quoted") else str(identifier.this).lower()


def _returned(node: exp.Expr) -> TypeName:
    function, returning = _function(node), node.args.get("returning")
    default = JSONB if function == "json_query" else TEXT
    target = TypeName(default, function) if returning is None else type_name(returning)
    held = ("json", "jsonb", "text") if function == "json_query" else ()
    is_document = target.type.element is not None or target.type.name in ("json", "jsonb", "bytea", "record")
    if (held and target.type.name not in held) or (not held and is_document) or target.character:
        raise fault.unsupported(f"RETURNING {target.type.sql_name} of {function}", position_of(node))
    return target


def _exists(node: exp.Expr, found: list[Scalar]) -> Scalar:
    behaviour = _word(node, "on_error") or "false"
    exists = call("json exists", [*found, truth(behaviour == "error")], position_of(node))
    if behaviour in ("error", "unknown"):
        return exists
    failed = Logic(BOOL, "and", (IsNull(BOOL, exists), Not(BOOL, IsNull(BOOL, found[0]))))
    return Case(BOOL, ((failed, truth(_TRUTHS[behaviour])),), exists)


def _value(node: exp.Expr, found: list[Scalar], target: TypeName, block: Block) -> Scalar:
    position, asked = position_of(node), Constant(TEXT, _result_kind(node))
    raised = " ".join(when[3:] for when in ("on_empty", "on_error") if _word(node, when) == "error")
    text = call("json query", [*found, asked, Constant(TEXT, raised)], position)
    value = operators.cast(text, target, position, lenient="error" not in raised)
    on_empty, on_error = (_instead(node, when, target, block) for when in ("on_empty", "on_error"))
    if on_empty is None and on_error is None:
        return value
    state = call("json query state", [*found, asked], position)
    branches = []
    if on_empty is not None:
        branches.append((_is(state, EMPTY), on_empty))
    if on_error is not None:
        unread = Logic(BOOL, "and", (IsNull(BOOL, value), Not(BOOL, IsNull(BOOL, text))))
        branches.append((Logic(BOOL, "or", (_is(state, FAILED), unread)), on_error))
    return Case(value.type, tuple(branches), value)


def _is(state: Scalar, number: int) -> Scalar:
    return Coalesce(BOOL, (comparison("=", state, Constant(INT4, number), None), truth(False)))


def _result_kind(node: exp.Expr) -> str:
    if _function(node) == "json_value":
        return "value"
    if wrapper := _word(node, "wrapper"):
        return wrapper
    return "unquoted" if _word(node, "quotes") == "omit" else "query"


def _word(node: exp.Expr, clause: str) -> str | None:
    """The word of a clause, None for one that is an expression or not there."""
    value = node.args.get(clause)
    return str(value.this) if isinstance(value, exp.Var) else None


def _instead(node: exp.Expr, when: str, target: TypeName, block: Block) -> Scalar | None:
    """What stands for a result that is not there; None for NULL and for an error."""
    behaviour, word = node.args.get(when), _word(node, when)
    if behaviour is None or word in ("null", "error"):
        return None
    position = position_of(node)
    if word is not None:
        return operators.cast(Constant(JSONB, _EMPTY_VALUES[word]), target, position)
    default = block.bind(behaviour)
    if any(True for _ in columns(default)):
        message = "DEFAULT expression must not contain column references"
        raise fault.invalid(fault.DATATYPE_MISMATCH, message, position)
    return _of_type(operators.cast(default, target, position), target.type)


def _of_type(value: Scalar, target: PgType) -> Scalar:
    return coerce(value, target) if value.type.name == "unknown" else value
