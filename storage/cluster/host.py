"""This host's name in a deployment: made once, durable before anything is stored under it."""

import os
from pathlib import Path

from storage.cluster.peer_client import Signer
from storage.cluster.peers import Peers
from storage.context import Layout
from storage.durable_files import make_directory, sync_directory
from storage.names import UNFINISHED_SUFFIX, mirrors, unique

# A copy of a data directory on a second host must leave this file out: two hosts of one name forget each other's work.
NAME_FILE = "node"


def layout(root: Path, url: str | None = None, signer: Signer | None = None) -> Layout:
    """The layout of this host; with a `signer`, as one of several. Raises OSError."""
    node = name(root)
    return Layout(root, node, url, peers=None if signer is None else Peers(node, mirrors(root), signer))


def name(root: Path) -> str:
    """What this host is called: a ULID, kept in the data directory. Processes that ask first at once agree."""
    path = root / NAME_FILE
    if not path.exists():
        _make(root, path)
    return path.read_text("ascii").strip()


def _make(root: Path, path: Path) -> None:
    make_directory(root, root.parent)
    unfinished = root / f"{NAME_FILE}-{unique()}{UNFINISHED_SUFFIX}"
    with unfinished.open("w", encoding="ascii") as file:
        file.write(unique())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(unfinished, path)
    except FileExistsError:
        pass
    finally:
        unfinished.unlink()
    sync_directory(root)
