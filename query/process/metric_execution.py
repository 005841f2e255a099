"""PromQL and questions about label sets, as a query process answers them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Final

import cramjam
import orjson
import polars as pl

from errors import InvalidPromQL, QueryTooLarge
from promql import tree
from promql.evaluate import Limits, Result, evaluate
from promql.format import formatted
from promql.parse import nodes, parse
from promql.selecting import reference_times
from promql.series import Samples, Steps
from promql.tree import Matcher, Node, Range, Selector, Subquery
from promql.tree_json import as_json
from query.metrics.answers import data_of, is_truncated
from query.metrics.exemplars import exemplars
from query.metrics.kept_samples import MOST_ROWS, KeptSamples
from query.metrics.kept_source import KeptSource
from query.metrics.label_columns import NAME_COLUMN, TIME_COLUMN
from query.metrics.lookups import answer
from query.metrics.otlp_names import is_otlp
from query.metrics.otlp_series import OtlpSource, summarize_points
from query.metrics.questions import MetricQuestion
from query.metrics.remote_read import query_result, read_response, streamed
from query.metrics.series import MetricSource, MetricTable, is_metric_name
from query.metrics.summaries import LabelSummaries, label_sets, summarize
from query.plan.conditions import Conditions
from query.process.messages import Source
from query.process.metric_messages import (
    AskExpression,
    Describe,
    Evaluate,
    Expression,
    Find,
    MetricLimits,
    ParseExpression,
    Reach,
    Read,
)
from query.process.protocol import Answer
from query.process.worker import Output
from query.results.content_coding import Coded
from storage.files.statistics import Condition
from storage.read.contents import Column, File, Snapshot

# How many warnings and infos an answer has (web/api/v1/api.go).
MOST_NOTES: Final = 10
Scan = Callable[[Source, Snapshot], pl.LazyFrame]
View = Callable[[Source, tuple[Conditions, ...]], pl.LazyFrame]
Visible = Callable[[Source], tuple[Column, ...]]
Request = ParseExpression | Evaluate | AskExpression | Find | Read | Describe
REQUESTS: Final = (ParseExpression, Evaluate, AskExpression, Find, Read, Describe)


class MetricExecution:
    """The current expression, and the summaries of files. `view` gives a source's rows in its range that may satisfy
    conditions, `scan` those of a part of its snapshot, `visible` the columns that its reader may see, `has_unconverted`
    whether some of its rows may be in no file yet."""

    def __init__(self, view: View, scan: Scan, visible: Visible, has_unconverted: Callable[[Source], bool]) -> None:
        self._view, self._scan, self._visible, self._has_unconverted = view, scan, visible, has_unconverted
        self._parsed: tuple[Expression, Node] | None = None
        self._summaries = LabelSummaries()
        self._kept = KeptSamples()

    def handle(self, request: Request, output: Output) -> Answer:
        match request:
            case ParseExpression():
                return self._parse(request.expression)
            case Evaluate():
                return self._evaluate(request, output)
            case AskExpression():
                return self._ask(request, output)
            case Find():
                return self._find(request, output)
            case Read():
                return self._read(request, output)
            case Describe():
                return _described(request, output)

    def _parse(self, expression: Expression) -> Answer:
        node = parse(expression.text, experimental=expression.experimental)
        if expression.is_range and tree.type_of(node) not in (tree.Type.SCALAR, tree.Type.VECTOR):
            kind = tree.DOCUMENTED[tree.type_of(node)]
            raise InvalidPromQL(f'invalid expression type "{kind}" for range query, must be Scalar or instant Vector')
        self._parsed = expression, node
        start, end = time_range(node, expression)
        return {"start": start, "end": end}

    def _ask(self, request: AskExpression, output: Output) -> Answer:
        told = self._parse(request.parse.expression)
        if Reach(told["start"], told["end"]) != request.expected:
            return told
        return self._evaluate(request.evaluate, output)

    def _evaluate(self, request: Evaluate, output: Output) -> Answer:
        if self._parsed is None:
            raise InvalidPromQL("no expression")
        expression, node = self._parsed
        steps = Steps(expression.start_ms, expression.end_ms, expression.step_ms)
        limits = Limits(request.limits.samples, expression.lookback_ms)
        begun = perf_counter()
        source = self._source(request.source, request.limits)
        result = evaluate(node, steps, source, limits, is_range=expression.is_range)
        stats = _stats(result, request.queued_seconds, perf_counter() - begun) if request.stats else None
        writer = _Writer(output, request.coding, request.limits.result_bytes)
        _write_result(writer, result, expression, request, stats)
        return writer.finish()

    def _source(self, source: Source, limits: MetricLimits) -> MetricSource | KeptSource | OtlpSource:
        table = self._table(source)
        if is_otlp(table.stored):
            return OtlpSource(table)
        plain = MetricSource(table, *limits.read)
        snapshot = source.snapshot
        if not table.has_samples or not _may_be_kept(source, table.stored[TIME_COLUMN]):
            return plain
        unconverted = None
        if self._has_unconverted(source):
            unconverted = MetricSource(self._part(source, replace(snapshot, files=())), *limits.read)
        load = partial(self._load, source)
        return KeptSource(plain, unconverted, self._kept, snapshot, partial(_relevant_files, source), load)

    def _part(self, source: Source, part: Snapshot) -> MetricTable:
        return MetricTable(self._visible(source), lambda _: self._scan(source, part))

    def _load(self, source: Source, matchers: tuple[Matcher, ...], files: tuple[File, ...]) -> Samples | None:
        """All samples of files; None if they are not to be kept."""
        part = replace(source.snapshot, start=None, end=None, files=files, segments=())
        rows = MetricSource(self._part(source, part), MOST_ROWS, MOST_ROWS)
        if sum(each.rows for each in files) > MOST_ROWS and rows.count(matchers) > MOST_ROWS:
            return None
        samples = rows.all_samples(matchers)
        return samples if samples.histograms is None else None

    def _read(self, request: Read, output: Output) -> Answer:
        source = self._source(request.source, request.limits)
        writer = _Writer(output, "identity", request.limits.result_bytes)
        results = []
        for index, each in enumerate(request.queries):
            samples = source.select(each.matchers, each.start_ms, each.end_ms)
            if not request.is_streamed:
                results.append(query_result(samples))
                continue
            for frame in streamed(samples, index):
                writer.add(frame)
        if not request.is_streamed:
            writer.add(bytes(cramjam.snappy.compress_raw(read_response(results))))
        return writer.finish()

    def _table(self, source: Source) -> MetricTable:
        columns = self._visible(source)

        def rows(matchers: Sequence[Matcher]) -> pl.LazyFrame:
            return self._view(source, _conditions(columns_by_name(source), matchers))

        return MetricTable(columns, rows)

    def _find(self, request: Find, output: Output) -> Answer:
        lookup = request.lookup
        writer = _Writer(output, request.coding, request.result_bytes)
        is_cut = False
        if lookup.kind == "exemplars":
            data: Any = exemplars(
                self._table(request.source), _selected(lookup), lookup.start_ms or 0, lookup.end_ms or 0
            )
        else:
            selectors = [_matchers(text) for text in lookup.selectors]
            data, is_cut = answer(lookup, self._sets(request.source, lookup, selectors))
        members: dict[str, Any] = {"status": "success", "data": data}
        warnings = _gap_warnings(request.source) + (["results truncated due to limit"] if is_cut else [])
        if warnings:
            members["warnings"] = warnings
        writer.add(orjson.dumps(members))
        return writer.finish()

    def _sets(self, source: Source, lookup: MetricQuestion, selectors: list[tuple[Matcher, ...]]) -> pl.DataFrame:
        """The label sets of range and selectors, out of the summaries of its files and of what is in no file yet."""
        snapshot = source.snapshot
        if not self._table(source).has_samples:
            return pl.DataFrame()
        columns, tags = snapshot.schema.columns, source.permitted_tags
        whole = replace(snapshot, start=None, end=None)
        found = []
        for file in snapshot.files:
            part = replace(whole, files=(file,), segments=())
            key = snapshot.schema.dataset_id, file.path, tags, len(columns)
            found.append(self._summaries.of(key, partial(self._summarize, source, part)))
        unconverted = replace(whole, files=())
        if self._has_unconverted(replace(source, snapshot=unconverted)):
            found.append(self._summarize(source, unconverted))
        return label_sets(found, lookup.start_ms, lookup.end_ms, selectors)

    def _summarize(self, source: Source, part: Snapshot) -> pl.DataFrame:
        make = summarize_points if is_otlp(columns_by_name(source)) else summarize
        return make(self._scan(source, part), part.schema.columns)


def _may_be_kept(source: Source, time_column: str) -> bool:
    """What a narrowed reader may see differs from reader to reader; other times than samples' do not cut samples."""
    snapshot = source.snapshot
    is_bounded = snapshot.start is not None or snapshot.end is not None
    has_times = snapshot.times_from is None and (snapshot.time_column == time_column or not is_bounded)
    return source.permitted_tags is None and has_times


def _relevant_files(source: Source, matchers: tuple[Matcher, ...]) -> tuple[File, ...]:
    return source.snapshot.relevant(_conditions(columns_by_name(source), matchers)).files


def columns_by_name(source: Source) -> dict[str, str]:
    return {each.name: each.stored for each in source.snapshot.schema.columns}


def _conditions(stored: dict[str, str], matchers: Sequence[Matcher]) -> tuple[Conditions, ...]:
    """What files and row groups must have, by their statistics."""
    found = tuple(Condition(stored[NAME_COLUMN], "=", each.value) for each in matchers if is_metric_name(each))
    return (found,) if found else ()


def _matchers(text: str) -> tuple[Matcher, ...]:
    """The matchers of a selector. Raises InvalidPromQL."""
    node = parse(text)
    if not isinstance(node, Selector):
        raise InvalidPromQL("1:1: parse error: unexpected expression, expected a metric selector")
    return node.matchers


def _selected(lookup: MetricQuestion) -> list[tuple[Matcher, ...]]:
    """The selectors of an expression, whose exemplars are asked for."""
    found = []
    for text in lookup.selectors:
        found += [each.matchers for each in nodes(parse(text)) if isinstance(each, Selector)]
    return found


def time_range(node: Node, expression: Expression) -> tuple[int | None, int | None]:
    """From when to when an expression needs samples (promql/engine.go, FindMinMaxTime); None if none."""
    steps = Steps(expression.start_ms, expression.end_ms, expression.step_ms)
    found = list(_ranges(node, steps, expression))
    if not found:
        return None, None
    # What is before a window tells whether a histogram's counter began anew.
    margin = expression.lookback_ms
    return min(start for start, _ in found) - margin, max(end for _, end in found)


def _ranges(node: Node, steps: Steps, expression: Expression) -> Any:
    if isinstance(node, Selector | Subquery):
        ends = reference_times(_settled(node, expression), steps)
        length = node.range_ms if isinstance(node, Subquery) else expression.lookback_ms
        start, end = int(ends.min()) - length, int(ends.max())
        if isinstance(node, Selector):
            yield start, end
            return
        steps = Steps(start, end, max(end - start, 1))
    if isinstance(node, Range):
        ends = reference_times(_settled(node.selector, expression), steps)
        yield int(ends.min()) - node.range_ms, int(ends.max())
        return
    for child in tree.children(node):
        yield from _ranges(child, steps, expression)


def _settled(node: Selector | Subquery, expression: Expression) -> Selector | Subquery:
    fixed = {"start": expression.start_ms, "end": expression.end_ms}
    return replace(node, fixed=fixed[node.fixed]) if isinstance(node.fixed, str) else node


def _described(request: Describe, output: Output) -> Answer:
    node = parse(request.text, experimental=request.experimental)
    data = formatted(node) if request.kind == "format" else as_json(node)
    writer = _Writer(output, request.coding, 2**40)
    writer.add(orjson.dumps({"status": "success", "data": data}))
    return writer.finish()


class _Writer:
    """Codes an answer and fails beyond a limit of bytes."""

    def __init__(self, output: Output, coding: str, most_bytes: int) -> None:
        self._output, self._coded, self._left, self._most = output, Coded(coding), most_bytes, most_bytes

    def add(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise QueryTooLarge(f"the result has more than {self._most} bytes", limit=self._most)
        self._output(self._coded.add(data))

    def finish(self) -> Answer:
        self._output(self._coded.finish())
        return {"expired": False, "coding": self._coded.coding, "repeatable": False}


def _write_result(
    writer: _Writer, result: Result, expression: Expression, request: Evaluate, stats: dict[str, Any] | None
) -> None:
    warnings, infos = result.notes.texts(expression.text, MOST_NOTES)
    warnings += _gap_warnings(request.source)
    if is_truncated(result, request.limit):
        warnings.append("results truncated due to limit")
    writer.add(b'{"status":"success","data":')
    last = b""
    for piece in data_of(result, is_range=expression.is_range, limit=request.limit):
        writer.add(last)
        last = piece
    if stats is not None:
        last = last.removesuffix(b"}") + b',"stats":' + orjson.dumps(stats) + b"}"
    writer.add(last)
    for name, texts in (("warnings", warnings), ("infos", infos)):
        if texts:
            writer.add(f',"{name}":'.encode() + orjson.dumps(texts))
    writer.add(b"}")


def _gap_warnings(source: Source) -> list[str]:
    return [f"gap: what host {each.host} has stored last cannot be read" for each in source.snapshot.gaps]


def _stats(result: Result, queued_seconds: float, evaluated_seconds: float) -> dict[str, Any]:
    """The members that Prometheus has, in seconds (util/stats/query_stats.go). No sort is a step of its own."""
    timings = {
        "evalTotalTime": evaluated_seconds,
        "resultSortTime": 0,
        "queryPreparationTime": result.select_seconds,
        "innerEvalTime": max(0.0, evaluated_seconds - result.select_seconds),
        "execQueueTime": queued_seconds,
        "execTotalTime": queued_seconds + evaluated_seconds,
    }
    samples = {"totalQueryableSamples": result.read_samples, "peakSamples": result.read_samples}
    return {"timings": timings, "samples": samples}
