"""One batch of a tail: the rows that its reader may see, through its statement, to lines of JSON.

Tails that ask the same of the same share what comes out.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from weakref import WeakValueDictionary

import polars as pl

from query import engine
from query.results import json_rows
from query.tail.log_reader import Damaged, LogReader
from query.tail.messages import View
from query.tail.position import Range
from query.tail.statement import follow
from query.tail.view_rows import MOST_KEPT, Stale, ViewRows
from storage.exactly import exactly


class Evaluation:
    """A statement over one batch after another of a view's rows."""

    def __init__(self, sql: str, rows: ViewRows, now: datetime) -> None:
        """Raises InvalidSQL, UnsupportedSQL."""
        self._rows = rows
        self._followed = follow(sql, rows.view, now)
        self._shows_all = rows.want(self._followed.needed)
        self._kept: OrderedDict[tuple[tuple[Range, ...], bool], list[bytes]] = OrderedDict()

    @property
    def is_repeatable(self) -> bool:
        """Whether the statement asks for neither the time nor chance."""
        return self._followed.query.repeatable

    def lines(self, reader: LogReader, ranges: Sequence[Range], *, send_null: bool) -> list[bytes]:
        """The rows that the statement gives, as JSON, in order. Raises Stale, WeirError, and as `LogReader.read`."""
        key = tuple(ranges), send_null
        lines = self._kept.get(key)
        if lines is None:
            lines = self._kept[key] = self._evaluate(reader, ranges, send_null=send_null)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return lines

    def _evaluate(self, reader: LogReader, ranges: Sequence[Range], *, send_null: bool) -> list[bytes]:
        try:
            arranged = self._rows.arrange(reader, ranges)
            if arranged.stale is not None and self._shows_all:
                raise arranged.stale
            compiled = self._followed.over(arranged.rows.select(map(exactly, self._followed.needed)))
            answer = compiled.frame.collect(engine="in-memory")
            types = [field.type for field in compiled.fields]
            return _split(json_rows.lines(answer, types, send_null=send_null)) if answer.height else []
        except (Stale, Damaged, FileNotFoundError):
            raise
        except (Exception, pl.exceptions.PanicException) as error:
            raise engine.translate(error) from error


class Evaluations:
    """The evaluations of a process, as long as somebody uses them."""

    def __init__(self) -> None:
        self._rows: WeakValueDictionary[View, ViewRows] = WeakValueDictionary()
        self._evaluations: WeakValueDictionary[tuple[str, View], Evaluation] = WeakValueDictionary()

    def of(self, sql: str, view: View, now: datetime) -> Evaluation:
        """That of the statement over the view. Raises InvalidSQL, UnsupportedSQL."""
        found = self._evaluations.get((sql, view))
        if found is not None:
            return found
        rows = self._rows.get(view) or ViewRows(view)
        self._rows[view] = rows
        evaluation = Evaluation(sql, rows, now)
        if evaluation.is_repeatable:
            self._evaluations[sql, view] = evaluation
        return evaluation


def _split(lines: bytes) -> list[bytes]:
    """The lines, each without line feed. A bare carriage return, which JSON may have between its tokens, ends a line
    of server-sent events too."""
    return lines[:-1].replace(b"\r", b" ").split(b"\n")
