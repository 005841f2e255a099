"""The rows of a snapshot as Spark's relation: files by their names, and all other rows along with the plan.

Each event is in one of the snapshot's files or segments, so it is there once.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from columns import ColumnType
from errors import ClusterUnavailable
from query.plan.tree import Field
from query.spark import messages, types
from storage.exactly import exactly
from storage.files.file_schema import FORMAT
from storage.read.contents import File, Snapshot
from storage.read.scan import scan
from storage.read.unconverted_rows import UnconvertedRows

_DDL: Final = {
    ColumnType.BOOL: "BOOLEAN",
    ColumnType.INT64: "BIGINT",
    ColumnType.FLOAT64: "DOUBLE",
    ColumnType.UTF8: "STRING",
    ColumnType.JSON: "STRING",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP_US: "TIMESTAMP",
    ColumnType.TIMESTAMP_NS: "BIGINT",
}
# A server takes messages of 128 MiB unless told otherwise (spark.connect.grpc.maxInboundMessageSize).
LARGEST_LOCAL_BYTES: Final = 96 * 1024 * 1024
_NS_PER_US: Final = 1_000


@dataclass(frozen=True, slots=True)
class Input:
    """A dataset's snapshot."""

    snapshot: Snapshot
    unconverted: UnconvertedRows

    def rows(self, wanted: Sequence[tuple[str, Field]]) -> Any:
        """The wanted columns, under their identifiers. Raises NotOnCluster, ClusterUnavailable, SnapshotExpired."""
        for _, each in wanted:
            types.require_held(each.type)
        files = [each for each in self.snapshot.files if self._is_todays(each)]
        others = tuple(each for each in self.snapshot.files if not self._is_todays(each))
        parts = [self._of_files(files, wanted)] if files else []
        if others or self.snapshot.segments or not files:
            parts.append(self._of_others(others, wanted))
        return messages.union(parts)

    def _is_todays(self, file: File) -> bool:
        """Whether every program reads its columns as this snapshot's schema has them."""
        is_wide = file.widened >= self.snapshot.schema.last_widening
        return file.format == FORMAT and is_wide and self.snapshot.has_times(file)

    def _of_files(self, files: Sequence[File], wanted: Sequence[tuple[str, Field]]) -> Any:
        kinds = {each.stored: each.type for each in self.snapshot.schema.columns}
        names = dict.fromkeys([self.snapshot.time_column, *(name for name, _ in wanted)])
        schema = ", ".join(f"`{name.replace('`', '``')}` {_DDL[kinds[name]]}" for name in names)
        rows = messages.parquet([_location(self.snapshot.root, each.path) for each in files], schema)
        for condition in self._bounds(kinds[self.snapshot.time_column]):
            rows = messages.filtered(rows, condition)
        return messages.project(rows, [messages.alias(_whole(name, kinds[name]), each.id) for name, each in wanted])

    def _bounds(self, kind: ColumnType) -> list[Any]:
        """That a row is in the snapshot's range."""
        unit = 1 if kind is ColumnType.TIMESTAMP_NS else _NS_PER_US
        bounds = [(">=", self.snapshot.start), ("<", self.snapshot.end)]
        time = _whole(self.snapshot.time_column, kind)
        return [
            messages.call(operator, time, messages.literal(long=-(-bound // unit)))
            for operator, bound in bounds
            if bound is not None
        ]

    def _of_others(self, files: tuple[File, ...], wanted: Sequence[tuple[str, Field]]) -> Any:
        columns = [_plain(name, each).alias(each.id) for name, each in wanted]
        rest = replace(self.snapshot, files=files, ranges={}, time_conditions=())
        rows = scan(rest, self.unconverted).select(columns or [pl.lit(1).alias("row")])
        content = io.BytesIO()
        collected = rows.collect(engine="streaming")
        if not columns:
            height = scan(rest, self.unconverted).select(pl.len()).collect().item()
            collected = pl.DataFrame({"row": pl.repeat(1, height, eager=True, dtype=pl.Int32())})
        collected.rechunk().write_ipc_stream(content, compat_level=pl.CompatLevel.oldest())
        if content.tell() > LARGEST_LOCAL_BYTES:
            raise ClusterUnavailable(
                f"{content.tell()} bytes are not in files that a cluster can read yet; they will be in a few seconds",
                retry_after_seconds=5,
            )
        return messages.local(content.getvalue())


def _whole(name: str, kind: ColumnType) -> Any:
    column = messages.attribute(name)
    return messages.call("unix_micros", column) if kind is ColumnType.TIMESTAMP_US else column


def _plain(name: str, each: Field) -> pl.Expr:
    value = exactly(name)
    return value.cast(pl.Int64()) if each.type.name in types.TIMES else value


def _location(root: str, path: str) -> str:
    if root.startswith("s3://"):
        return f"s3a://{root.removeprefix('s3://')}/{path}"
    return f"{root}/{path}" if "://" in root else f"file://{root}/{path}"
