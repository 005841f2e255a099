"""Where a statement runs, and a statement that runs on the cluster: its parts asked for, and what is left for here."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from errors import ClusterFailed, UnsupportedOnCluster
from query.engine import Compiled, Table, lower_statement
from query.plan.tree import Field, Query
from query.process.dataset_view import DatasetView, scan_size
from query.process.messages import Route
from query.spark.connection import Cluster
from query.spark.inputs import Input
from query.spark.placement import Placed, place
from query.syntax.parse import Statement
from storage.read.scan import SnapshotExpired
from storage.read.unconverted_rows import UnconvertedRows


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine, and why; no reason where there is no choice."""

    is_cluster: bool
    reason: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """What EXPLAIN says of it."""
        return (f"Engine: {'spark' if self.is_cluster else 'local'}, {self.reason}",) if self.reason else ()


def choose(route: Route, statement: Statement, views: Mapping[str, DatasetView]) -> Choice:
    """The request decides, else the bytes that are left to read. Raises UnsupportedOnCluster."""
    if route.url is None:
        if route.asked == "spark":
            raise UnsupportedOnCluster("no cluster is configured here", field="engine")
        return Choice(is_cluster=False)
    if any(view.source.permitted_tags is not None for view in views.values()):
        # Spark may compute a reader's condition before the one that hides rows, and its errors would tell of them.
        return Choice(is_cluster=False, reason="which readers of some rows always use")
    if not views or statement.catalog:
        return Choice(is_cluster=False, reason="which needs no files")
    if route.asked is not None:
        return Choice(is_cluster=route.asked == "spark", reason="which the request asks for")
    size = scan_size([view.snapshot for view in views.values()])["bytes"]
    compared = "more" if size > route.bytes else "not more"
    reason = f"{size} bytes to read are {compared} than WEIR_SPARK_BYTES, {route.bytes}"
    return Choice(is_cluster=size > route.bytes, reason=reason)


@dataclass(frozen=True, slots=True)
class ClusterRun:
    """A statement on the cluster, over these views of its datasets."""

    statement: Statement
    query: Query
    views: Mapping[str, DatasetView]
    unconverted: UnconvertedRows

    def compile(self, route: Route, choice: Choice) -> Compiled:
        """What is left of the statement, over what the cluster has answered. For EXPLAIN nothing is asked.

        Raises UnsupportedOnCluster, ClusterUnavailable, ClusterFailed, InvalidSQL, SnapshotExpired.
        """
        placed = place(self.query.relation, self.query.outputs, self._rows)
        rest = replace(self.query, relation=placed.relation)
        tables = self._explained(placed) if self.statement.explain else self._answered(placed, route)
        steps = tuple(f"Spark {number}: {each.steps}" for number, each in enumerate(placed.parts, 1))
        return lower_statement(self.statement, rest, tables, (*choice.lines, *steps))

    def _rows(self, dataset: str, wanted: Sequence[tuple[str, Field]]) -> Any:
        return Input(self.views[dataset].snapshot, self.unconverted).rows(wanted)

    def _answered(self, placed: Placed, route: Route) -> dict[str, Table]:
        cluster = Cluster(route.url or "", route.timeout_seconds)
        try:
            return {each.name: Table(each.frame(cluster.rows(each.plan))) for each in placed.parts}
        except SnapshotExpired as error:
            snapshots = [view.snapshot for view in self.views.values()]
            if all(os.path.exists(f"{each.root}/{file.path}") for each in snapshots for file in each.files):
                raise ClusterFailed(f"the cluster does not find the files below {snapshots[0].root}") from error
            raise

    def _explained(self, placed: Placed) -> dict[str, Table]:
        # The frames of datasets are not read: EXPLAIN says what their files are.
        described = {name: Table(pl.LazyFrame(), source=view.explanation) for name, view in self.views.items()}
        return described | {each.name: Table(each.empty()) for each in placed.parts}
