"""A data directory as an operator's command finds it: with a server at work on it, or alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from config import Settings, close_to_others
from embedded_postgres import server
from errors import InvalidRequest
from models import base
from processes.locks import try_lock
from storage.cluster import host
from storage.cluster.peer_client import Signer
from storage.context import Layout

# Held shared by every server of the data directory (gunicorn.conf.py).
SERVER_LOCK: Final = "server.lock"
# There from the first to the last step of a restore.
UNFINISHED_RESTORE: Final = "restore.unfinished"


class NotNow(InvalidRequest):
    """The data directory is not in the state that the command needs."""

    code = "not_now"


def require_restored(data_dir: Path) -> None:
    """Raise NotNow if a restore into the data directory has begun and not ended."""
    if (data_dir / UNFINISHED_RESTORE).exists():
        raise NotNow(f"the restore into {data_dir} was interrupted; run it again")


@contextmanager
def open_data_dir(settings: Settings, *, alone: bool = False, signer: Signer | None = None) -> Iterator[Layout]:
    """The data directory with its database running and bound; started and stopped here when no server does.

    `alone`: no server may run. `signer`: for a layout that reads what the other hosts have, too. Raises NotNow,
    StorageUnavailable.
    """
    close_to_others()
    if not settings.data_dir.is_dir():
        raise NotNow(f"{settings.data_dir} is no data directory; WEIR_DATA_DIR names it")
    require_restored(settings.data_dir)
    with (settings.data_dir / SERVER_LOCK).open("a") as lock:
        is_alone = try_lock(lock.fileno())
        if alone and not is_alone:
            raise NotNow(f"a server uses {settings.data_dir}; stop it first")
        with database(settings, is_ours=is_alone):
            yield host.layout(settings.data_dir, settings.storage_url, signer)


@contextmanager
def database(settings: Settings, *, is_ours: bool) -> Iterator[None]:
    """The database bound; the embedded one is started and stopped here if it is ours to do so."""
    is_ours = is_ours and settings.database_url is None
    if is_ours:
        server.ensure_running(settings.data_dir)
    base.bind(server.url(settings.database_url, settings.data_dir), max_connections=2)
    try:
        yield
    finally:
        base.database.close_all()
        if is_ours:
            server.stop(settings.data_dir)
