"""The parts of the service that handlers use: one container, built by `app.build` and found through the application."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from flask import Flask, current_app

from alerting.addresses import Policy
from auth.access import Access
from auth.peers import PeerKey
from columns import Batch
from config import Settings
from metrics.meters import Meters
from observing.recorder import Recorder
from openapi.document import Description
from query.service import QueryService
from query.tail.service import TailService
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from web.bodies import Bodies
from web.console_files import ConsoleFiles
from web.credentials import Credentials
from web.ingestion.pipeline import Pipeline

EXTENSION: Final = "weir"


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of one worker.

    `audit` stores an event durably: tenant, dataset, batch, arrival, telemetry type. `peer_key` None: this host is
    alone. `recorder` None: Weir's own events are not kept. Targets may only lead where `target_policy` lets them.
    """

    settings: Settings
    access: Access
    credentials: Credentials
    audit: Callable[[str, str, Batch, Arrival, str], None]
    peer_key: PeerKey | None
    target_policy: Policy
    storage: Storage
    meters: Meters
    bodies: Bodies
    pipeline: Pipeline
    queries: QueryService
    tails: TailService
    recorder: Recorder | None
    description: Description
    console: ConsoleFiles


def hold(app: Flask, services: Services) -> None:
    """From now on these are the parts of the application."""
    app.extensions[EXTENSION] = services


def services_of(app: Flask) -> Services:
    """The parts of an application."""
    found: Services = app.extensions[EXTENSION]
    return found


def services() -> Services:
    """The parts of the application that serves this request."""
    found: Services = current_app.extensions[EXTENSION]
    return found
