"""What comes of evaluations, kept: at once if somebody is to be told, else together with others."""

import logging
import threading
from datetime import datetime

from alerting import notices
from alerting.state_machine import Outcome, Result
from errors import Overloaded
from models import alert_event, delivery
from models.alert import Alert, Evaluated, set_evaluated, set_status
from models.base import DatabaseError, transaction

logger = logging.getLogger(__name__)


class EvaluationWriter:
    """Safe for any number of threads. Whoever uses it calls `flush` several times a second."""

    def __init__(self) -> None:
        self._waiting: list[Evaluated] = []
        self._lock = threading.Lock()

    def keep(self, alert: Alert, outcome: Outcome, result: Result | None, window_end: datetime, claim_id: str) -> None:
        """Keep the outcome unless somebody changes the alert before it is written. Raises StorageUnavailable.

        One without history and notice waits for `flush`; if that never comes, the claim ends and the alert is
        evaluated again. Of the others status, history and deliveries are one transaction.
        """
        if outcome.events or outcome.notice is not None:
            _keep(alert, outcome, result, window_end, claim_id)
            return
        with self._lock:
            self._waiting.append(Evaluated(alert.origin.id, claim_id, outcome.status))

    def flush(self) -> None:
        """Write what waits, in one statement. Raises StorageUnavailable, and then it still waits."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            set_evaluated(waiting)
        except Overloaded:
            with self._lock:
                self._waiting = [*waiting, *self._waiting]
            raise
        except DatabaseError:
            logger.exception("of %d evaluations one cannot be kept", len(waiting))
            for each in waiting:
                _write_alone(each)


def _write_alone(evaluated: Evaluated) -> None:
    """Write one evaluation alone, so that it cannot fail the others. If it fails, its claim ends and it is repeated."""
    try:
        set_evaluated([evaluated])
    except DatabaseError:
        logger.exception("the evaluation of alert %s cannot be kept", evaluated.alert_id)


def _keep(alert: Alert, outcome: Outcome, result: Result | None, window_end: datetime, claim_id: str) -> None:
    with transaction():
        if not set_status(alert.origin, outcome.status, claim_id):
            logger.info("alert %s was changed while it was evaluated; it will be again", alert.origin.id)
            return
        for event in outcome.events:
            alert_event.record(alert.origin.id, event)
        if outcome.notice is not None:
            payload = notices.notice(alert, outcome, result, window_end)
            delivery.enqueue(alert.origin.id, alert.content.targets, outcome.notice, payload, window_end)
