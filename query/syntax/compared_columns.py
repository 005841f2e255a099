"""Which columns the conditions of a statement name, before anything of their dataset is known."""

from typing import Final

from sqlglot import exp

from query.syntax.identifiers import fold

MOST_COLUMNS: Final = 16


def compared_columns(tree: exp.Expr) -> list[str]:
    """Names in the conditions of a statement, and those of which it asks counts and extremes: the columns whose
    statistics may be of use. Too many are none."""
    names = {fold(column.this) for where in tree.find_all(exp.Where) for column in where.find_all(exp.Column)}
    names |= {name for select in tree.find_all(exp.Select) for name in _summarized(select)}
    return sorted(names) if len(names) <= MOST_COLUMNS else []


def _summarized(select: exp.Select) -> set[str]:
    """The columns of whose values a SELECT asks the number and the extremes.

    None if it groups by a plain column: no file has rows of one group alone.
    """
    group = select.args.get("group")
    if group is not None and any(isinstance(_selected(select, key), exp.Column) for key in group.expressions):
        return set()
    calls = (call for item in select.expressions for call in item.find_all(exp.Anonymous))
    arguments = (call.expressions[0] for call in calls if _is_summary(call) and len(call.expressions) == 1)
    return {fold(argument.this) for argument in arguments if isinstance(argument, exp.Column)}


def _is_summary(call: exp.Anonymous) -> bool:
    return isinstance(call.this, str) and call.this.lower() in ("count", "max", "min")


def _selected(select: exp.Select, key: exp.Expr) -> exp.Expr:
    """What a key of GROUP BY stands for, which may be the number or the name of an item."""
    items = select.expressions
    selected = key
    if key.is_int and 0 < int(key.this) <= len(items):
        selected = items[int(key.this) - 1].unalias()
    for item in items:
        if isinstance(key, exp.Column) and isinstance(item, exp.Alias) and fold(item.args["alias"]) == fold(key.this):
            selected = item.unalias()
    return selected
