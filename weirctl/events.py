"""`weirctl ingest`: a file of JSON events into a dataset, in batches, each stored once even when it is repeated."""

import hashlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import IO, Final

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from weirctl.client import Refused, Server
from weirctl.printing import note

BATCH_BYTES: Final = 1024 * 1024
MOST_ATTEMPTS: Final = 8
LONGEST_PAUSE_SECONDS: Final = 10.0
TRANSIENT: Final = frozenset({None, 503})


@click.command()
@click.argument("dataset")
@click.argument("file", type=click.File("rb"))
@click.pass_obj
def ingest(server: Server, dataset: str, file: IO[bytes]) -> None:
    """Send FILE (`-` for standard input; one JSON event per line) to DATASET.

    A batch that the server could not take is sent again, and stored once all the same. After an interruption, send
    the whole file again within a day: what was stored is recognised by its content and place in the file.
    """
    events = 0
    with _progress(file) as bar:
        total = file.seek(0, 2) if file.seekable() else None
        if total is not None:
            file.seek(0)
        task = bar.add_task(dataset, total=total)
        for number, batch in enumerate(batches(file)):
            events += _send(server, dataset, batch, number)
            bar.advance(task, len(batch))
    note(f"{events} events are stored in {dataset}")


def batches(lines: Iterable[bytes]) -> Iterator[bytes]:
    r"""Whole lines together, up to about BATCH_BYTES.

    >>> list(batches([b'{"a":1}\n', b'{"a":2}\n']))
    [b'{"a":1}\n{"a":2}\n']
    """
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        if waiting and size + len(line) > BATCH_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
        waiting.append(line)
        size += len(line)
    if waiting:
        yield b"".join(waiting)


def _send(server: Server, dataset: str, batch: bytes, number: int) -> int:
    """The number of events stored. Raises Refused."""
    digest = hashlib.sha256(batch).hexdigest()
    headers = {
        "X-P-Stream": dataset,
        "Content-Type": "application/x-ndjson",
        "Idempotency-Key": f"weirctl-{number}-{digest}",
    }
    for attempt in range(MOST_ATTEMPTS):
        try:
            return int(server.call("POST", "/api/v1/ingest", data=batch, headers=headers).json()["events"])
        except Refused as error:
            if error.status not in TRANSIENT or attempt == MOST_ATTEMPTS - 1:
                raise
            time.sleep(min(LONGEST_PAUSE_SECONDS, 0.25 * 2**attempt))
    raise AssertionError("unreachable")


def _progress(file: IO[bytes]) -> Progress:
    """On a terminal only, and on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=Console(file=sys.stderr), disable=not sys.stderr.isatty())
