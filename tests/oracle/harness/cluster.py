"""The subject on a cluster: the parts of each plan that Spark may compute are computed there, the rest here."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from errors import WeirError
from query import engine
from query.plan.tree import Field
from query.spark import messages, types
from query.spark.connection import answer
from query.spark.placement import place
from query.spark.session import Session
from query.syntax import parse
from tests.oracle.harness import tables
from tests.oracle.harness.answer import Answer, Failure, Outcome
from tests.oracle.harness.subject import NOW, _collected, _failure, _first_line, _rows


class ClusterSubject:
    """Our engine over tables whose rows travel with the plan. `asked` counts the statements that needed the cluster."""

    def __init__(self, loaded: Sequence[tables.Table], url: str) -> None:
        self._tables: Mapping[str, tables.Table] = {each.name: each for each in loaded}
        self._schemas = {
            each.name: engine.table_schema(engine.Table(each.frame.lazy(), each.json_columns)) for each in loaded
        }
        self._session = Session(url, 120.0)
        self._session.configure()
        self.asked = 0

    def run(self, query: str) -> Outcome:
        """The answer, values as Polars hands them out."""
        try:
            statement = parse.parse(query)
            bound = engine.bind_statement(statement, self._schemas, NOW)
            placed = place(bound.relation, bound.outputs, self._input)
            self.asked += bool(placed.parts)
            parts = {each.name: engine.Table(each.frame(answer(self._session, each.plan))) for each in placed.parts}
            compiled = engine.lower_statement(statement, replace(bound, relation=placed.relation), parts)
            rows = _rows(_collected(compiled.frame))
        except (KeyboardInterrupt, SystemExit):
            raise
        except WeirError as error:
            return _failure(error)
        except BaseException as error:  # As in subject.py.
            known = engine.translate(error)
            return Failure(_first_line(error), crash=True) if known.code == "internal_error" else _failure(known)
        return Answer(tuple(each.name for each in compiled.fields), tuple(each.type for each in compiled.fields), rows)

    def _input(self, dataset: str, wanted: Sequence[tuple[str, Field]]) -> Any:
        frame = self._tables[dataset].frame
        for _, each in wanted:
            types.require_held(each.type)
        columns = [
            (pl.col(name).cast(pl.Int64()) if each.type.name in types.TIMES else pl.col(name)).alias(each.id)
            for name, each in wanted
        ]
        content = io.BytesIO()
        rows = frame.select(columns) if columns else frame.select(pl.repeat(1, pl.len(), dtype=pl.Int32()).alias("row"))
        rows.write_ipc_stream(content, compat_level=pl.CompatLevel.oldest())
        return messages.local(content.getvalue())
