"""Commands about a data directory and its settings, on the host itself: check, repair, settings."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Final

import click

from config import Settings, variable
from models import base, census, server
from storage import host
from storage.inspection import Finding, Trouble, inspect
from storage.names import Layout
from storage.sweep import sweep
from weirctl.client import Refused
from weirctl.printing import note, show

LOSSES: Final = frozenset({Trouble.MISSING, Trouble.DAMAGED})
SECRET: Final = "****"


@click.command()
def settings() -> None:
    """Print the settings as the server would read them here, secrets masked."""
    effective = Settings.from_env()
    for each in fields(Settings):
        value = getattr(effective, each.name)
        is_secret = each.metadata["secret"] and value is not None
        click.echo(f"{variable(each.name)}={SECRET if is_secret else _text(value)}")


@click.command()
def check() -> None:
    """Compare the manifest with the disk. Exit code 1 when events are lost. The server may run."""
    with _database(alone=False) as layout:
        found = list(inspect(layout))
    show([asdict(each) for each in found], ["trouble", "path", "detail"])
    _conclude(found)


@click.command()
@click.option("--give-up-lost", is_flag=True, help="Drop missing and damaged files from the manifest.")
def repair(give_up_lost: bool) -> None:
    """Remove what a crash has left, with the server stopped. Nothing that was acknowledged is touched."""
    with _database(alone=True) as layout:
        lost = [each.path for each in inspect(layout) if each.trouble in LOSSES]
        dropped = census.give_up(lost) if give_up_lost else 0
        swept = sweep(layout, older_than_seconds=0)
        left = list(inspect(layout))
    note(f"{swept} leftovers removed, {dropped} lost files dropped from the manifest")
    _conclude(left)


@contextmanager
def _database(*, alone: bool) -> Iterator[Layout]:
    """The data directory with its database running; started and stopped here when no server does. Raises Refused."""
    effective = Settings.from_env()
    if effective.storage_url is not None:
        raise Refused("check and repair look after local files; WEIR_STORAGE_URL keeps them in a bucket")
    if not effective.data_dir.is_dir():
        raise Refused(f"{effective.data_dir} is no data directory; WEIR_DATA_DIR names it")
    with (effective.data_dir / "server.lock").open("a") as lock:
        is_alone = _lock(lock.fileno())
        if alone and not is_alone:
            raise Refused(f"a server uses {effective.data_dir}; stop it first")
        embedded = effective.database_url is None
        if embedded and is_alone:
            server.ensure_running(effective.data_dir)
        base.bind(server.url(effective.database_url, effective.data_dir), max_connections=2)
        try:
            yield host.layout(effective.data_dir)
        finally:
            base.database.close_all()
            if embedded and is_alone:
                server.stop(effective.data_dir)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _conclude(found: Sequence[Finding]) -> None:
    lost = sum(each.trouble in LOSSES for each in found)
    note(f"{len(found)} findings, {lost} of them losses")
    if lost:
        raise click.exceptions.Exit(1)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else "" if value is None else str(value)
