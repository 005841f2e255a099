"""One evaluation of one alert: its query, over its one dataset, with the rights that its author has now."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from alerting import machine, notices, schedule
from alerting.machine import Outcome, Row, Verdict
from alerting.windows import Window, Windows
from auth import authorship
from auth.identity import Identity
from auth.privileges import Action, require
from errors import Forbidden, InternalError, Overloaded, QueryTooLarge, WeirError
from models import alert_event, delivery
from models.alert import Alert, set_status
from models.base import connection, database
from query.requests import Source
from query.results import Options
from query.service import QueryService, Question

logger = logging.getLogger(__name__)

NS_PER_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Evaluator:
    windows: Windows
    queries: QueryService

    def evaluate(self, alert: Alert, lease: str, now: datetime) -> None:
        """Evaluate what was claimed under `lease`, and keep what comes of it, all or nothing.

        Raises Overloaded when there was no room or no database for it: then it is to be tried again.
        """
        slot = schedule.latest(alert.origin.id, alert.content.frequency_seconds, now - schedule.SETTLE)
        following = schedule.following(alert.origin.id, alert.content.frequency_seconds, slot)
        verdict: Verdict | None = None
        try:
            author = self._author(alert, now)
            rows = self._rows(alert, author, slot)
            verdict = machine.judge(rows, alert.content.operator, alert.content.threshold)
            outcome = machine.advance(alert, verdict, slot, following)
        except Forbidden as error:
            outcome = machine.disable(alert, f"{alert.origin.author.name}, its author: {error.message}", slot)
        except Overloaded:
            raise
        except InternalError as error:
            logger.error("alert %s: %s", alert.origin.id, error.message, exc_info=error)
            outcome = machine.fail(alert, "an error on our side", slot, following)
        except WeirError as error:
            outcome = machine.fail(alert, error.message, slot, following)
        _keep(alert, outcome, verdict, slot, lease)

    def _author(self, alert: Alert, now: datetime) -> Identity:
        """The author with the rights of this moment. Raises Forbidden when it has gone."""
        author = authorship.find(alert.origin.tenant, alert.origin.author, now)
        if author is None:
            raise Forbidden("the identity was deleted or has expired")
        return author

    def _rows(self, alert: Alert, author: Identity, slot: datetime) -> list[Row]:
        """The rows of the query over the window that ends with `slot`. Raises what the query raises."""
        end_ns = int(slot.timestamp()) * NS_PER_SECOND
        start_ns = end_ns - alert.content.window_seconds * NS_PER_SECOND

        find = self.windows.shared

        def resolve(names: tuple[str, ...], _: tuple[str, ...]) -> Mapping[str, Source]:
            nonlocal find
            # Authoring covers every row, so there is no predicate to push under the scan.
            for name in names:
                require(author, Action.AUTHOR, name)
            found = {name: find(Window(author.tenant, name, start_ns, end_ns)) for name in names}
            # Asked again, because something of the first answer is gone by now.
            find = self.windows.fresh
            return found

        question = Question(author.tenant, f"{author.kind}:{author.id}", alert.content.query, end_ns, options=Options())
        result = self.queries.run(question, resolve, lambda: False)
        if result.length is None:
            result.close()
            raise QueryTooLarge("the result of an alert's query is over the limit of 1 MiB: aggregate more")
        rows: list[Row] = orjson.loads(b"".join(result))
        return rows


def _keep(alert: Alert, outcome: Outcome, verdict: Verdict | None, slot: datetime, lease: str) -> None:
    """Status, history and deliveries in one transaction; none of it when somebody changed the alert meanwhile."""
    if not outcome.events and outcome.notice is None:
        set_status(alert.origin, outcome.status, lease)
        return
    with connection(), database.atomic():
        if not set_status(alert.origin, outcome.status, lease):
            logger.info("alert %s was changed while it was evaluated; it will be again", alert.origin.id)
            return
        for event in outcome.events:
            alert_event.record(alert.origin.id, event)
        if outcome.notice is not None:
            told = notices.notice(alert, outcome, verdict, slot)
            delivery.enqueue(alert.origin.id, alert.content.targets, outcome.notice, told, slot)
