"""Commands about a data directory and its settings, on the host itself: settings, check, repair, backup, restore."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

import click

from auth.peers import PeerKey
from auth.secrets import Secrets, master_key
from config import Settings, variable
from models import dataset_sizes
from storage.backup import archive
from storage.backup.archive import Manifest
from storage.backup.create import backup as back_up
from storage.backup.data_dir import open_data_dir
from storage.backup.restore import restore as restore_into
from storage.context import Layout
from storage.files.store import open_store
from storage.upkeep.inspection import Finding, Trouble, inspect
from storage.upkeep.sweep import ORPHAN_SECONDS, sweep
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
    """Compare the manifest with the disk or bucket. Exit code 1 when events are lost. The server may run."""
    with open_data_dir(Settings.from_env()) as layout:
        found = list(inspect(layout))
    show([asdict(each) for each in found], ["trouble", "path", "detail"])
    _conclude(found)


@click.command()
@click.option("--give-up-lost", is_flag=True, help="Drop missing and damaged files from the manifest.")
def repair(give_up_lost: bool) -> None:
    """Remove what a crash has left, with the server stopped. Nothing that was acknowledged is touched."""
    with open_data_dir(Settings.from_env(), alone=True) as layout:
        dropped = _give_up(layout) if give_up_lost else 0
        # Other hosts may be about to list in the manifest what they have just stored in the bucket.
        swept = sweep(layout, ORPHAN_SECONDS if layout.url else 0)
        left = list(inspect(layout))
    note(f"{swept} leftovers removed, {dropped} lost files dropped from the manifest")
    _conclude(left)


def _give_up(layout: Layout) -> int:
    lost = [each.path for each in inspect(layout) if each.trouble in LOSSES]
    if lost and layout.url and next(open_store(layout).sizes(), None) is None:
        raise Refused(f"there is not one file in {layout.url}; is that the right bucket?")
    return dataset_sizes.give_up(lost)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--previous",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="An earlier backup on the same file system: the Parquet files that it has are linked, not copied.",
)
@click.option("--own-segments", is_flag=True, help="Of several hosts: leave out what the others have not converted.")
def backup(directory: Path, previous: Path | None, own_segments: bool) -> None:
    """Copy everything into a new or empty DIRECTORY. The server may run and take events."""
    effective = Settings.from_env()
    with open_data_dir(effective, signer=None if own_segments else _signer(effective)) as layout:
        show([_summary(back_up(layout, directory, previous))])


def _signer(effective: Settings) -> PeerKey | None:
    """What the other hosts know this one by, if it is one of several."""
    if effective.advertise_url is None:
        return None
    return PeerKey(Secrets(master_key(effective.secret_key, effective.data_dir)))


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--verify", is_flag=True, help="Only read the backup and compare its checksums.")
def restore(directory: Path, verify: bool) -> None:
    """Restore the backup in DIRECTORY into the empty data directory and database of the settings."""
    if verify:
        manifest = archive.read(directory)
        archive.verify(directory, manifest)
    else:
        manifest = restore_into(directory, Settings.from_env())
    show([_summary(manifest)])


def _summary(manifest: Manifest) -> dict[str, str | int]:
    return {
        "created_at": manifest.created_at,
        "node": manifest.node,
        "files": len(manifest.below(archive.FILES)),
        "events": manifest.events,
        "segments": len(manifest.below(archive.SEGMENTS)),
        "bytes": manifest.bytes,
    }


def _conclude(found: Sequence[Finding]) -> None:
    lost = sum(each.trouble in LOSSES for each in found)
    note(f"{len(found)} findings, {lost} of them losses")
    if lost:
        raise click.exceptions.Exit(1)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else "" if value is None else str(value)
