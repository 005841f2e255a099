"""Calls of aggregate functions: DISTINCT, ORDER BY, FILTER, WITHIN GROUP."""

from dataclasses import replace

from sqlglot import exp

from query import fault
from query.bind.block import Block
from query.bind.dimensions import is_nested
from query.bind.fractions import bind_fraction, bind_hypothetical, checked_fraction, require_fraction
from query.bind.operators import require_hashable, require_sortable
from query.bind.type_resolution import coerce, unknown_to_text
from query.functions.postgres_names import has_form, postgresql_functions
from query.functions.registry import AGGREGATES, SYNTAX, Aggregate, aggregate_of, syntax, type_named
from query.pg.types import FLOAT8, TEXT, PgType, array_of, implicit, same
from query.plan.special_numbers import finite
from query.plan.tree import AggregateCall, Constant, RowOf, Scalar, SortKey
from query.syntax.positions import position_of


def bind_aggregate(node: exp.Expr, block: Block) -> Scalar:
    """A plain aggregate call: the column that holds its value."""
    return block.aggregate(aggregate_call(node, block))


@syntax(
    exp.Filter,
    form="aggregate(a) FILTER (WHERE condition)",
    summary="The aggregate of the rows where the condition is true.",
)
def bind_filtered(node: exp.Expr, block: Block) -> Scalar:
    """`aggregate(...) FILTER (WHERE condition)`."""
    call = filtered_call(node, block)
    return block.aggregate(call)


def filtered_call(node: exp.Expr, block: Block) -> AggregateCall:
    call = within_call(node.this, block) if isinstance(node.this, exp.WithinGroup) else aggregate_call(node.this, block)
    with block.arguments_of("FILTER", windowing=False):
        condition = block.bind_boolean(node.args["expression"].this, "FILTER")
    return replace(call, where=condition)


@syntax(
    exp.WithinGroup,
    form="aggregate(a) WITHIN GROUP (ORDER BY b)",
    summary="An ordered-set aggregate, or the rank that a row would have.",
)
def bind_within(node: exp.Expr, block: Block) -> Scalar:
    """`percentile_cont(0.5) WITHIN GROUP (ORDER BY value)`, `rank(100) WITHIN GROUP (ORDER BY value)`."""
    name = str(node.this.this).lower()
    hypothetical = SYNTAX.get(f"{name} within group")
    if hypothetical is not None:
        with block.arguments_of(name):
            order = sort_keys(node.args["expression"], block)
        direct = tuple(bind_hypothetical(argument, name, block) for argument in node.this.expressions)
        return hypothetical.bind(direct, order, block, position_of(node))
    return block.aggregate(within_call(node, block))


def within_call(node: exp.Expr, block: Block) -> AggregateCall:
    name = str(node.this.this).lower()
    with block.arguments_of(name):
        order = sort_keys(node.args["expression"], block)
    entries = [entry for entry in AGGREGATES.get(name, []) if entry.ordered_set]
    if not entries and name in postgresql_functions():
        raise fault.unsupported(f"{name} WITHIN GROUP", position_of(node))
    if not entries:
        raise fault.invalid("42809", f"{name} is not an ordered-set aggregate", position_of(node))
    direct = tuple(bind_fraction(argument, name, block) for argument in node.this.expressions)
    entry = entries[0]
    if name in ("mode", "percentile_disc") and any(_is_bare(key.this) for key in node.args["expression"].expressions):
        raise untyped_argument(name, position_of(node))
    if entry.direct is None or len(direct) != len(entry.direct) or len(order) != 1:
        raise _no_such(name, [value.type for value in direct], position_of(node))
    bound = _ordered_set(entry, direct, order, position_of(node))
    for fraction in () if block.group_keys else bound.direct:
        require_fraction(fraction, position_of(node))
    constant = all(isinstance(value, Constant) for value in bound.direct)
    if not constant and block.level_of(replace(bound, direct=())) is not block.scope:
        raise fault.unsupported(f"{name} of an outer query with an argument of this one", position_of(node))
    return bound


def _is_bare(node: exp.Expr) -> bool:
    return isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and bool(node.args.get("is_string")))


def _ordered_set(
    entry: Aggregate, direct: tuple[Scalar, ...], order: tuple[SortKey, ...], position: int | None
) -> AggregateCall:
    key = order[0]
    if entry.name == "percentile_cont" and key.value.type.name not in ("interval", "float8"):
        if not implicit(key.value.type, FLOAT8):
            raise _no_such(entry.name, [*(value.type for value in direct), key.value.type], position)
        key = replace(key, value=coerce(key.value, FLOAT8, position))
    require_sortable(key.value.type, position)
    types = [value.type.element or value.type for value in direct]
    if any(map(is_nested, direct)):
        raise fault.unsupported(f"{entry.name} with fractions in several dimensions", position)
    if not all(pg_type.name == "unknown" or implicit(pg_type, FLOAT8) for pg_type in types):
        raise _no_such(entry.name, [*(value.type for value in direct), key.value.type], position)
    fractions = tuple(checked_fraction(value, position) for value in direct)
    many = bool(fractions) and fractions[0].type.element is not None
    form = aggregate_of(entry.name, [key.value.type]) or entry
    pg_type = form.result((key.value.type,))
    return AggregateCall(
        array_of(pg_type) if many else pg_type,
        entry.name,
        (key.value,),
        order=(key,),
        direct=fractions,
        position=position,
    )


def aggregate_call(node: exp.Expr, block: Block) -> AggregateCall:
    """The call behind `name([DISTINCT] arguments [ORDER BY keys])`, its arguments bound inside the block."""
    name, position = str(node.this).lower(), position_of(node)
    if name not in AGGREGATES:
        raise fault.invalid("42809", f"{name} is not an aggregate function", position)
    arguments, distinct, order_node = _parts(node)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count":
            raise fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name}() does not exist", position)
        arguments = []
    elif not arguments and name == "count":
        raise fault.invalid("42809", "count(*) must be used to call a parameterless aggregate function", position)
    with block.arguments_of(name):
        values = [block.bind(argument) for argument in arguments]
        order = sort_keys(order_node, block) if order_node is not None else ()
    if name in _POLYMORPHIC and any(value.type.name == "unknown" for value in values):
        raise untyped_argument(name, position)
    call = _resolve(name, values, position)
    if distinct and order_node is not None:
        untyped_value = any(value.type.name == "unknown" for value in values[:1])
        for key, key_node in zip(order, order_node.expressions, strict=True):
            if untyped_value or key.value not in call.args:
                message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
                raise fault.invalid(fault.INVALID_COLUMN_REFERENCE, message, position_of(key_node))
    return _check(replace(call, distinct=distinct, order=order), position)


def _parts(node: exp.Expr) -> tuple[list[exp.Expr], bool, exp.Expr | None]:
    """Arguments, DISTINCT, ORDER BY: sqlglot hangs the latter two around the arguments."""
    arguments, order, distinct = list(node.expressions), None, False
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1]
        arguments[-1] = order.this
    if arguments and isinstance(arguments[0], exp.Distinct):
        distinct = True
        if arguments[0].args.get("on"):
            raise fault.invalid(fault.SYNTAX_ERROR, "DISTINCT ON inside an aggregate", position_of(node))
        arguments = [*arguments[0].expressions, *arguments[1:]]
        if any(isinstance(argument, exp.Star) for argument in arguments):
            raise fault.invalid(fault.SYNTAX_ERROR, "DISTINCT *", position_of(node))
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1]
        arguments[-1] = order.this
    return arguments, distinct, order


def sort_keys(node: exp.Expr, block: Block) -> tuple[SortKey, ...]:
    """The keys of an ORDER BY inside a call or window: expressions only, no output names or positions."""
    keys = []
    for ordered in node.expressions:
        value = unknown_to_text(block.bind(ordered.this))
        require_sortable(value.type, position_of(ordered))
        keys.append(SortKey(value, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))))
    return tuple(keys)


def _resolve(name: str, values: list[Scalar], position: int | None) -> AggregateCall:
    types = [value.type for value in values]
    fitting = [entry for entry in AGGREGATES[name] if not entry.ordered_set and _fits(entry, types)]
    if not fitting and any(pg_type.name == "record" for pg_type in types):
        raise fault.unsupported(f"{name} of rows", position)
    if not fitting:
        raise _no_such(name, types, position)
    best = max(fitting, key=lambda entry: _score(entry, types))
    pairs = zip(best.parameters, values, strict=True)
    converted = tuple(_convert(name, word, value, position) for word, value in pairs)
    return AggregateCall(best.result(tuple(value.type for value in converted)), best.name, converted, position=position)


_POLYMORPHIC = ("array_agg", "any_value")


def untyped_argument(name: str, position: int | None) -> Exception:
    """The result for a bare literal where the type of the result is the argument's."""
    if name == "array_agg":
        return fault.invalid(fault.AMBIGUOUS_FUNCTION, "function array_agg(unknown) is not unique", position)
    message = "could not determine polymorphic type because input has type unknown"
    return fault.invalid(fault.DATATYPE_MISMATCH, message, position)


def _fits(entry: Aggregate, types: list[PgType]) -> bool:
    if len(entry.parameters) != len(types):
        return False
    return all(
        word == "any" or (word == "anyarray" and pg_type.element is not None) or _implicit(pg_type, word)
        for word, pg_type in zip(entry.parameters, types, strict=True)
    )


def _implicit(pg_type: PgType, word: str) -> bool:
    return word not in ("any", "anyarray") and implicit(pg_type, type_named(word))


def _score(entry: Aggregate, types: list[PgType]) -> tuple[int, int, int]:
    exact = sum(
        word not in ("any", "anyarray") and same(type_named(word), pg_type)
        for word, pg_type in zip(entry.parameters, types, strict=True)
    )
    preferred = sum(word in ("float8", "text") for word in entry.parameters)
    literals = sum(
        word == "text" and pg_type.name == "unknown" for word, pg_type in zip(entry.parameters, types, strict=True)
    )
    return exact, literals, preferred


_TAKING_SPECIAL = ("min", "max")
"""Aggregates of numerics that may be NaN or infinite."""


def _convert(name: str, word: str, value: Scalar, position: int | None) -> Scalar:
    if word in ("any", "anyarray"):
        return coerce(value, TEXT) if value.type.name == "unknown" else value
    converted = coerce(value, type_named(word), position)
    return finite(converted) if converted.type.special and name not in _TAKING_SPECIAL else converted


def _no_such(name: str, types: list[PgType], position: int | None) -> Exception:
    shown = ", ".join(pg_type.sql_name for pg_type in types)
    if has_form(name, types):
        return fault.unsupported(f"function {name}({shown})", position)
    return fault.invalid(fault.UNDEFINED_FUNCTION, f"function {name}({shown}) does not exist", position)


def _check(call: AggregateCall, position: int | None) -> AggregateCall:
    if call.distinct:
        for value in call.args:
            require_hashable(value.type, position)
        if any(_presence(value) is not value for value in call.args):
            raise fault.unsupported("DISTINCT over whole rows of an outer join", position, "name its columns")
    if call.function in ("min", "max"):
        require_sortable(call.args[0].type, position)
    if any(isinstance(value, RowOf) for value in call.args) and call.function not in ("count", "json_agg", "jsonb_agg"):
        raise fault.unsupported(f"{call.function} of rows", position)
    if call.function == "count" and not call.distinct:
        return replace(call, args=tuple(map(_presence, call.args)))
    return call


def _presence(value: Scalar) -> Scalar:
    """What is NULL where the row is."""
    return value.presence if isinstance(value, RowOf) and value.presence is not None else value
