"""The evaluation of alerts: each one's query, over its one dataset, with the rights that its author has now."""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from alerting import schedule, state_machine
from alerting.asking import Asked, Asking
from alerting.evaluation_groups import NS_PER_SECOND, Group
from alerting.evaluation_writer import EvaluationWriter
from alerting.result_cache import CachedResult, ResultCache
from alerting.state_machine import Result, Row
from alerting.windows import View, Window, Windows
from auth import authorship
from auth.identity import Identity
from auth.privileges import Action, require
from errors import Forbidden, InternalError, InvalidPromQL, Overloaded, QueryTooLarge, WeirError
from models import alert as alerts
from models.alert import Alert
from models.authored import Author
from query.metric_queries import ReadOptions
from query.process.messages import Source
from query.process.metric_messages import Expression
from query.question import Question
from query.results.options import Options
from query.service import QueryService
from schemas.alerts import PROMQL

logger = logging.getLogger(__name__)

# What was found out of the authors' rights is not older than this when an evaluation begins.
RIGHTS_SECONDS: Final = 1.0
RETRY: Final = timedelta(seconds=5)


NS_PER_MS: Final = 1_000_000
# Prometheus' own.
LOOKBACK_MS: Final = 300_000
# The column that is compared, beside those of labels.
VALUE: Final = "value"
DEFAULT_OPTIONS: Final = ReadOptions(50_000_000, 500_000)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """`clock` tells the time of day."""

    windows: Windows
    queries: QueryService
    clock: Callable[[], datetime]
    writer: EvaluationWriter = field(default_factory=EvaluationWriter)
    answers: ResultCache = field(default_factory=ResultCache)
    wanted: ReadOptions = DEFAULT_OPTIONS

    @property
    def asking(self) -> Asking:
        """How statements are asked."""
        return Asking(self.windows, self.queries, self.answers)

    def evaluate(self, group: Group) -> None:
        """Evaluate what was claimed, each for itself, and keep what comes of it, of each all or nothing.

        Those that there is no room or no time for are given back.
        """
        left = deque(group.alerts)
        try:
            with self.asking.together(group) as asked:
                self._evaluate_some(left, group, asked)
        except Overloaded as error:
            for alert in left:
                self._postpone(alert, group, error)
            return
        # The process that they shared has ended with one of them.
        self._evaluate_some(left, group, self.asking.alone())

    def _evaluate_some(self, left: deque[Alert], group: Group, asked: Asked) -> None:
        """Take alerts from those that are left while there is time, and a way to ask."""
        authors, began = _Authors(group.tenant, self.clock), time.monotonic()
        while left and asked.is_usable():
            alert = left.popleft()
            try:
                self._evaluate(alert, group, authors, asked)
            except Overloaded as error:
                self._postpone(alert, group, error)
            except Exception:
                # One bad alert must not take the others of its group along. Its claim ends, and it is tried again.
                logger.exception("alert %s cannot be evaluated", alert.origin.id)
            if left and time.monotonic() > began + asked.seconds:
                alerts.release([each.origin.id for each in left], group.claim_id)
                left.clear()

    def _postpone(self, alert: Alert, group: Group, error: Overloaded) -> None:
        logger.warning("alert %s: %s; trying again", alert.origin.id, error.message)
        alerts.postpone(alert.origin, group.claim_id, self.clock() + RETRY)

    def _evaluate(self, alert: Alert, group: Group, authors: "_Authors", asked: Asked) -> None:
        window_end = group.window_end
        following = schedule.following(alert.origin.id, alert.content.frequency_seconds, window_end)
        result: Result | None = None
        try:
            rows = self._rows(alert, authors.find(alert.origin.author), window_end, asked)
            result = state_machine.evaluate(rows, alert.content.operator, alert.content.threshold)
            outcome = state_machine.advance(alert, result, window_end, following)
        except Forbidden as error:
            outcome = state_machine.disable(
                alert, f"{alert.origin.author.name}, its author: {error.message}", window_end
            )
        except Overloaded:
            raise
        except InternalError as error:
            logger.error("alert %s: %s", alert.origin.id, error.message, exc_info=error)
            outcome = state_machine.fail(alert, "an error on our side", window_end, following)
        except WeirError as error:
            outcome = state_machine.fail(alert, error.message, window_end, following)
        self.writer.keep(alert, outcome, result, window_end, group.claim_id)

    def _rows(self, alert: Alert, author: Identity, window_end: datetime, asked: Asked) -> list[Row]:
        """The rows of the query over the window that ends at `window_end`. Raises what the query raises."""
        require(author, Action.AUTHOR, alert.content.dataset)
        end_ns = int(window_end.timestamp()) * NS_PER_SECOND
        if alert.content.query_type == PROMQL:
            return self._expression_rows(alert, author, end_ns)
        start_ns = end_ns - alert.content.window_seconds * NS_PER_SECOND
        view = asked.view(Window(author.tenant, alert.content.dataset, start_ns, end_ns))
        data = self.answers.recall(alert.origin.id, alert.content.query, view.fingerprint)
        if data is None:
            data = self._query(alert, author, start_ns, end_ns, asked)
        rows: list[Row] = orjson.loads(data)
        return rows

    def _expression_rows(self, alert: Alert, author: Identity, end_ns: int) -> list[Row]:
        """A row of labels and value for each series of the expression at the end of the window."""
        name, at_ms = alert.content.dataset, end_ns // NS_PER_MS
        find = self.windows.shared

        def resolve(start_ms: int | None, end_ms: int | None) -> Source:
            nonlocal find
            require(author, Action.AUTHOR, name)
            found, find = find, self.windows.fresh
            start, end = (start_ms or at_ms) * NS_PER_MS, ((end_ms or at_ms) + 1) * NS_PER_MS
            return found(Window(author.tenant, name, start, end)).source

        by = author.tenant, f"{author.kind}:{author.id}"
        question = Question(*by, alert.content.query, end_ns, privileged=True, datasets=(name,))
        expression = Expression(alert.content.query, at_ms, at_ms, 1, False, LOOKBACK_MS)
        result = self.queries.metrics.evaluate(question, expression, self.wanted, resolve, lambda: False)
        if result.length is None:
            result.close()
            raise QueryTooLarge("the result of an alert's query is over the limit of 1 MiB: aggregate more")
        return _rows_of(orjson.loads(b"".join(result))["data"])

    def _query(self, alert: Alert, author: Identity, start_ns: int, end_ns: int, asked: Asked) -> bytes:
        """The result of the query over `[start_ns, end_ns)`, as JSON."""
        find = asked.view
        views: dict[str, View] = {}

        def resolve(names: tuple[str, ...], _: tuple[str, ...]) -> Mapping[str, Source]:
            nonlocal find
            # Authoring covers every row, so there is no predicate to push under the scan.
            for name in names:
                require(author, Action.AUTHOR, name)
            views.clear()
            views.update((name, find(Window(author.tenant, name, start_ns, end_ns))) for name in names)
            # A second call means that a file or segment of the first view is gone by now.
            find = self.windows.fresh
            return {name: view.source for name, view in views.items()}

        by = author.tenant, f"{author.kind}:{author.id}"
        question = Question(*by, alert.content.query, end_ns, options=Options(), privileged=True)
        result = asked.run(question, resolve)
        if result.length is None:
            result.close()
            raise QueryTooLarge("the result of an alert's query is over the limit of 1 MiB: aggregate more")
        data = b"".join(result)
        if result.repeatable:
            self._keep(alert, list(views.values()), data)
        return data

    def _keep(self, alert: Alert, read: Sequence[View], data: bytes) -> None:
        if len(read) == 1 and read[0].fingerprint is not None:
            self.answers.keep(alert.origin.id, CachedResult(alert.content.query, read[0].fingerprint, data))


def _rows_of(data: Mapping[str, Any]) -> list[Row]:
    """What a PromQL answer says, as rows; native histograms have no value to compare."""
    if data["resultType"] == "scalar":
        return [{VALUE: _number(data["result"][1])}]
    if data["resultType"] != "vector":
        raise InvalidPromQL(f"an alert compares numbers; the expression gives a {data['resultType']}")
    found = [each for each in data["result"] if "value" in each]
    return [{**each["metric"], VALUE: _number(each["value"][1])} for each in found]


def _number(text: str) -> float | None:
    """NaN is not beyond any threshold."""
    value = float(text)
    return None if math.isnan(value) else value


class _Authors:
    """The authors of a group's alerts with the rights of this moment, each looked for once a second at most."""

    def __init__(self, tenant: str, clock: Callable[[], datetime]) -> None:
        self._tenant, self._clock = tenant, clock
        self._found: dict[Author, Identity | None] = {}
        self._since = 0.0

    def find(self, author: Author) -> Identity:
        """Raises Forbidden when it has gone."""
        if time.monotonic() > self._since + RIGHTS_SECONDS:
            self._found, self._since = {}, time.monotonic()
        if author not in self._found:
            self._found[author] = authorship.find(self._tenant, author, self._clock())
        identity = self._found[author]
        if identity is None:
            raise Forbidden("the identity was deleted or has expired")
        return identity
