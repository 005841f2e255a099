"""Spark Connect's messages (spark/connect/*.proto), in the few shapes that plans need. Knows no plan of ours.

They come with PySpark, which is optional: whoever asks for them first imports it.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from errors import ClusterUnavailable


@cache
def proto() -> Any:
    """The module of all messages. Raises ClusterUnavailable."""
    try:
        return import_module("pyspark.sql.connect.proto")
    except ImportError as error:
        raise ClusterUnavailable("Spark's client is not installed here: requirements-distributed.txt") from error


@cache
def transport() -> Any:
    """gRPC, which takes a tenth of a second to import: most query processes never need it."""
    return import_module("grpc")


def attribute(name: str) -> Any:
    """A column by its name, whatever characters that has."""
    quoted = "`" + name.replace("`", "``") + "`"
    return proto().Expression(unresolved_attribute=proto().Expression.UnresolvedAttribute(unparsed_identifier=quoted))


def alias(value: Any, name: str) -> Any:
    return proto().Expression(alias=proto().Expression.Alias(expr=value, name=[name]))


def call(function: str, *arguments: Any, is_distinct: bool = False) -> Any:
    """A built-in function or operator."""
    unresolved = proto().Expression.UnresolvedFunction(
        function_name=function, arguments=arguments, is_distinct=is_distinct
    )
    return proto().Expression(unresolved_function=unresolved)


def literal(**value: Any) -> Any:
    """By the name of the literal's kind: `long=1`, `string="x"`."""
    return proto().Expression(literal=proto().Expression.Literal(**value))


def null(type_text: str) -> Any:
    """NULL of a type."""
    return cast(literal(null=proto().DataType(null=proto().DataType.NULL())), type_text)


def cast(value: Any, type_text: str) -> Any:
    return proto().Expression(cast=proto().Expression.Cast(expr=value, type_str=type_text))


def project(source: Any, expressions: Sequence[Any]) -> Any:
    """Of no columns there would be no rows, so a constant stands for them."""
    listed = expressions or [alias(literal(integer=1), "row")]
    return proto().Relation(project=proto().Project(input=source, expressions=listed))


def filtered(source: Any, condition: Any) -> Any:
    return proto().Relation(filter=proto().Filter(input=source, condition=condition))


def union(relations: Sequence[Any]) -> Any:
    """The rows of all relations, by position."""
    result = relations[0]
    for each in relations[1:]:
        result = set_operation(result, each, "union", is_all=True)
    return result


def set_operation(left: Any, right: Any, operator: str, *, is_all: bool) -> Any:
    kinds = proto().SetOperation
    kind = getattr(kinds, f"SET_OP_TYPE_{operator.upper()}")
    found = proto().Relation(
        set_op=kinds(left_input=left, right_input=right, set_op_type=kind, is_all=is_all, by_name=False)
    )
    # Spark's DataFrame API unites all; what SQL calls UNION is that without repetitions.
    return found if is_all or operator != "union" else deduplicated(found)


def deduplicated(source: Any) -> Any:
    return proto().Relation(deduplicate=proto().Deduplicate(input=source, all_columns_as_keys=True))


def aggregated(source: Any, keys: Sequence[Any], calls: Sequence[Any]) -> Any:
    """The keys come first in the result."""
    group_by = proto().Aggregate.GROUP_TYPE_GROUPBY
    return proto().Relation(
        aggregate=proto().Aggregate(
            input=source, group_type=group_by, grouping_expressions=keys, aggregate_expressions=calls
        )
    )


def joined(left: Any, right: Any, kind: str, condition: Any | None) -> Any:
    """`kind` as the tree of plans has it."""
    kinds = proto().Join
    names = {"inner": "INNER" if condition is not None else "CROSS", "left": "LEFT_OUTER", "full": "FULL_OUTER"}
    name = names | {"semi": "LEFT_SEMI", "anti": "LEFT_ANTI"}
    return proto().Relation(
        join=kinds(
            left=left, right=right, join_condition=condition, join_type=getattr(kinds, f"JOIN_TYPE_{name[kind]}")
        )
    )


def order(value: Any, *, descending: bool, nulls_first: bool) -> Any:
    kinds = proto().Expression.SortOrder
    return kinds(
        child=value,
        direction=kinds.SORT_DIRECTION_DESCENDING if descending else kinds.SORT_DIRECTION_ASCENDING,
        null_ordering=kinds.SORT_NULLS_FIRST if nulls_first else kinds.SORT_NULLS_LAST,
    )


def windowed(function: Any, partition: Sequence[Any], orders: Sequence[Any]) -> Any:
    """The function over the rows of its partition, in the frame that is its own."""
    window = proto().Expression.Window(window_function=function, partition_spec=partition, order_spec=orders)
    return proto().Expression(window=window)


def with_columns(source: Any, expressions: Sequence[Any]) -> Any:
    """The rows with more columns: aliases."""
    return project(source, [proto().Expression(unresolved_star=proto().Expression.UnresolvedStar()), *expressions])


def sorted_by(source: Any, orders: Sequence[Any]) -> Any:
    return proto().Relation(sort=proto().Sort(input=source, order=orders, is_global=True))


def limited(source: Any, count: int | None, offset: int) -> Any:
    if offset:
        source = proto().Relation(offset=proto().Offset(input=source, offset=offset))
    return source if count is None else proto().Relation(limit=proto().Limit(input=source, limit=count))


def parquet(paths: Sequence[str], schema: str) -> Any:
    """The rows of these files, with columns as `schema` says in DDL."""
    source = proto().Read.DataSource(format="parquet", schema=schema, paths=paths)
    return proto().Relation(read=proto().Read(data_source=source))


def local(arrow_stream: bytes) -> Any:
    """Rows that travel with the plan."""
    return proto().Relation(local_relation=proto().LocalRelation(data=arrow_stream))
