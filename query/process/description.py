"""What a statement will answer, and the types of its open parameters: known as soon as it is bound."""

from typing import Final

from query.plan.tree import Query
from query.process.protocol import Answer
from query.results.options import Format
from query.syntax.parse import Statement

# Formats whose rows do not tell their columns.
SELF_DESCRIBED: Final = (Format.DATA_ROWS, Format.COPY, Format.DESCRIPTION)
PLAN: Final = ("QUERY PLAN", "text")


def description(statement: Statement, query: Query) -> Answer:
    """`{"fields": [[name, type]], "parameters": {number: type}}`. Names may be there twice, as in PostgreSQL.

    A parameter of which no place decides the type is text.
    """
    fields = [(output.name, output.field.type.output_name) for output in query.outputs]
    types = {
        number: next((each.type.output_name for each in places if each.type is not None), "text")
        for number, places in statement.placeholders.items()
    }
    return {"fields": [PLAN] if statement.explain else fields, "parameters": types}
