"""The parts of the service that handlers use, built once in `app.create_app` and found through the application."""

from dataclasses import dataclass
from typing import Final

from flask import current_app

from config import Settings
from query.service import QueryService
from storage.write.engine import Storage
from web.batcher import Gathering
from web.bodies import Bodies
from web.reception import Reception

EXTENSION: Final = "weir.parts"


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    storage: Storage
    bodies: Bodies
    reception: Reception
    gathering: Gathering
    queries: QueryService


def services() -> Services:
    """The parts of the application that serves this request."""
    found: Services = current_app.extensions[EXTENSION]
    return found
