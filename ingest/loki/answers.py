"""The answers to a Loki push: a status, and text for people. Promtail drops at 4xx and repeats at 429 and 5xx."""

from typing import Final

from errors import WeirError
from ingest.decoded import Answer, Divided, Stored

_TEXT: Final = "text/plain; charset=utf-8"


def success(stored: Stored[Divided]) -> Answer:
    """204 without a body, as Loki answers."""
    return Answer(b"", "", 204)


def failure(media_type: str, status: int, error: WeirError) -> Answer:
    """Agents log the text and look at the status alone."""
    return Answer(f"{error.message}\n".encode(), _TEXT, status)
