"""`weirctl ingest`: a file of JSON events into a dataset, in batches, each stored once even when it is repeated."""

import gzip
import hashlib
import io
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from weirctl.client import Refused, Server
from weirctl.printing import note

GZIP: Final = b"\x1f\x8b"
BATCH_BYTES: Final = 1024 * 1024
MOST_ATTEMPTS: Final = 8
LONGEST_PAUSE_SECONDS: Final = 10.0
TRANSIENT: Final = frozenset({None, 503})


@click.command()
@click.argument("dataset")
@click.argument("file", type=click.File("rb"))
@click.option("--time-field", help="The field of the events that is their time, for a dataset that is created by this.")
@click.pass_obj
def ingest(server: Server, dataset: str, file: IO[bytes], time_field: str | None) -> None:
    """Send FILE (`-` for standard input; one JSON event per line, plain or gzip) to DATASET.

    A batch that the server could not take is sent again, and stored once all the same. After an interruption, send
    the whole file again within a day: what was stored is recognised by its content and place in the file.
    """
    events, line = 0, 1
    named = {"X-P-Stream": dataset, **({"X-P-Time-Partition": time_field} if time_field else {})}
    total = file.seek(0, 2) if file.seekable() else None
    if total is not None:
        file.seek(0)
    with _progress() as bar:
        task = bar.add_task(dataset, total=total)
        for number, batch in enumerate(batches(_unpacked(file))):
            events += _send(server, batch, number, line, named)
            line += batch.count(b"\n")
            bar.update(task, completed=file.tell() if total is not None else None)
    note(f"{events} events are stored in {dataset}")


def _unpacked(file: IO[bytes]) -> Iterator[bytes]:
    """The lines, of a file in gzip those inside. Raises Refused for one that is damaged."""
    packed = isinstance(file, io.BufferedReader) and file.peek(len(GZIP)).startswith(GZIP)
    if not packed:
        yield from file
        return
    try:
        with gzip.open(file) as unpacked:
            yield from unpacked
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Refused(f"{file.name} is damaged: {error}") from error


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


def _send(server: Server, batch: bytes, number: int, line: int, named: Mapping[str, str]) -> int:
    """The number of events stored, of a batch that begins at this line. Raises Refused."""
    digest = hashlib.sha256(batch).hexdigest()
    headers = {
        **named,
        "Content-Type": "application/x-ndjson",
        "Idempotency-Key": f"weirctl-{number}-{digest}",
    }
    for attempt in range(MOST_ATTEMPTS):
        try:
            return int(server.call("POST", "/api/v1/ingest", data=batch, headers=headers).json()["events"])
        except Refused as error:
            if error.status not in TRANSIENT or attempt == MOST_ATTEMPTS - 1:
                raise Refused(f"{_place(batch, line, error.said)}{error}", error.status, error.said) from error
            time.sleep(min(LONGEST_PAUSE_SECONDS, 0.25 * 2**attempt))
    raise AssertionError("unreachable")


def _place(batch: bytes, line: int, said: Mapping[str, Any]) -> str:
    r"""Which line the server means, that counts from the beginning of what it was sent.

    >>> _place(b'{"a":1}\n\n{"a":\n', 11, {"position": 13})
    'line 13 (lines before 11 are stored): '
    >>> _place(b'{"a":1}\n\n[]\n', 1, {"index": 1})
    'line 3: '
    """
    position, index = said.get("position"), said.get("index")
    if isinstance(position, int):
        # What ends too early is noticed behind its end.
        offset = batch[: min(position, len(batch.rstrip()))].count(b"\n")
    elif isinstance(index, int):
        filled = [number for number, each in enumerate(batch.split(b"\n")) if each.strip()]
        offset = filled[min(index, len(filled) - 1)]
    else:
        return ""
    return f"line {line + offset}" + (f" (lines before {line} are stored): " if line > 1 else ": ")


def _progress() -> Progress:
    """On a terminal only, and on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=Console(file=sys.stderr), disable=not sys.stderr.isatty())
