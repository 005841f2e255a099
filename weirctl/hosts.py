"""Commands about the hosts of a deployment, through its database: list, drop."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from config import Settings
from models import host, segment_copy
from models.host import Host
from storage.backup.data_dir import database, open_data_dir
from weirctl.client import Refused
from weirctl.printing import note, show

COLUMNS = ["name", "state", "url", "started_at", "seen_at", "left_at", "dropped_at"]


@click.group("host")
def group() -> None:
    """Hosts that share one PostgreSQL and one bucket; run with the settings of any of them."""


@group.command("list")
def list_hosts() -> None:
    """All hosts there ever were, and which of them queries wait for."""
    with _database():
        found = host.list_all()
    show([_row(each) for each in found], COLUMNS)


@group.command("drop")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop_host(name: str, yes: bool) -> None:
    """Give up a dead host, so that queries are answered without it.

    Given up is what it acknowledged and had not converted. If its disk comes back, start it again: it is present
    then, and so are those events, each of them once.
    """
    with _database():
        found = next((each for each in host.list_all() if each.name == name), None)
        if found is not None and not yes:
            click.confirm(
                f"Host {name} ({found.url}), last seen {found.seen_at or 'when it was stopped'}: what it acknowledged"
                " and had not converted by then will be missing from every answer until it returns. Drop it?",
                abort=True,
                err=True,
            )
        _require_converted_copies(name)
        host.drop(name)
    note(f"host {name} is dropped; queries are answered without what only it has")


def _require_converted_copies(name: str) -> None:
    """Other hosts that keep copies of what it took convert them by themselves, half a minute after it was lost."""
    waiting = segment_copy.waiting_of(name)
    if waiting:
        told = ", ".join(f"host {holder} keeps {count}" for holder, count in waiting)
        raise Refused(f"copies of what host {name} took are still being converted ({told}): try again in a minute")


def _row(each: Host) -> dict[str, str | None]:
    values = {**asdict(each), "state": _state(each)}
    return {name: None if values[name] is None else str(values[name]) for name in COLUMNS}


def _state(each: Host) -> str:
    if each.left_at is not None:
        return "left"
    if each.dropped_at is not None:
        return "dropped"
    return "living" if each.is_living else "missing"


@contextmanager
def _database() -> Iterator[None]:
    """The database bound. The embedded one may know hosts too: a backup of one of several, restored to stand alone."""
    effective = Settings.from_env()
    if effective.database_url is None:
        with open_data_dir(effective):
            yield
    else:
        with database(effective, is_ours=False):
            yield
