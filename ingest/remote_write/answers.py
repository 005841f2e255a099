"""The answers to remote write: a status, and text for people (remote-write 1.0 and 2.0)."""

from typing import Final

from errors import WeirError
from ingest.decoded import Answer, Stored
from ingest.remote_write.rows import DecodedSamples

_TEXT: Final = "text/plain; charset=utf-8"


def success(stored: Stored[DecodedSamples]) -> Answer:
    """204 when all is stored; 400 with the reason when something is not.

    A 2.0 sender takes a success without these headers for a receiver that knows only 1.0.
    """
    decoded = stored.decoded()
    headers = {
        f"X-Prometheus-Remote-Write-{name}-Written": str(count)
        for name, count in (
            ("Samples", decoded.samples),
            ("Histograms", decoded.histograms),
            ("Exemplars", decoded.exemplars),
        )
    }
    if decoded.rejected:
        # Never a success when something was left out; what is valid has been stored ("Partial writes").
        return _text(f"{decoded.rejected} not stored, the rest is: {decoded.message}", 400)._replace(headers=headers)
    return Answer(b"", "", 204, headers)


def failure(media_type: str, status: int, error: WeirError) -> Answer:
    """Senders log the text and look at the status alone."""
    return _text(error.message, status)


def _text(message: str, status: int) -> Answer:
    return Answer(f"{message}\n".encode(), _TEXT, status)
