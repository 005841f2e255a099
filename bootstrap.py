"""What happens before the first worker and after the last: PostgreSQL up, tables migrated, an administrator there, and
this host known to the others.

Run by gunicorn.conf.py as a process of its own, because the gunicorn master must stay free of database and Polars
state, which would be forked into every worker: `python bootstrap.py start ADDRESS...`, `... stop`, and `... abandon`
after a start that failed.
"""

import logging
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, TypeVar

import logs
from auth.accounts import bootstrap_administrator, has_other_password
from auth.passwords import Passwords
from auth.scram import ScramVerifiers
from auth.secrets import Secrets, master_key, require_same_key
from auth.weak_passwords import reached_at, refuse_guessable_password
from config import InvalidSetting, Settings, close_to_others
from embedded_postgres import server
from errors import InvalidName, StorageUnavailable, WeirError
from models import base
from pgwire.catalogue.cluster import KIND as CATALOGUE
from processes.locks import wait_for_lock
from storage.backup.data_dir import require_restored
from storage.cluster import host
from storage.upkeep import membership
from web.ingestion.headers import checked_dataset_name

logger = logging.getLogger("bootstrap")

P = ParamSpec("P")
R = TypeVar("R")


def _here(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)


def start(settings: Settings, addresses: Sequence[str]) -> None:
    """Bring the database up to date and announce the administrator once. Idempotent; safe in parallel.

    `addresses` are those that the server will listen on.
    """
    _require_self_dataset(settings.self_dataset)
    settings.make_data_dir()
    require_restored(settings.data_dir)
    if settings.database_url is None:
        server.ensure_running(settings.data_dir)
    base.bind(server.url(settings.database_url, settings.data_dir))
    base.check_reachable()
    base.migrate()
    secrets = Secrets(master_key(settings.secret_key, settings.data_dir))
    require_same_key(secrets)
    passwords = Passwords(_here)
    reached = reached_at(addresses, settings.trusted_proxies, settings.public_url)
    refuse_guessable_password(passwords, settings.admin_username, settings.admin_password, reached)
    wanted = settings.admin_password
    if wanted is not None and has_other_password(passwords, settings.admin_username, wanted):
        logger.warning(
            "WEIR_ADMIN_PASSWORD counts on the first start alone and is not used: there are users already, and %s has "
            "another password; `weirctl admin reset-password` makes a new one",
            settings.admin_username,
        )
    membership.join(host.layout(settings.data_dir, settings.storage_url), settings.advertise_url)
    given = (settings.admin_username, settings.admin_password)
    password = bootstrap_administrator(passwords, *given, datetime.now(UTC), ScramVerifiers(secrets))
    if password is not None:
        print(
            f"\n  Administrator: {settings.admin_username}\n  Password:      {password}\n"
            "  (shown once; change it with POST /api/v1/user/<name>/generate-new-password)\n",
            flush=True,
        )


def _require_self_dataset(name: str | None) -> None:
    """Raises InvalidSetting: in a worker it would be one of a start that is never over."""
    try:
        if name:
            checked_dataset_name(name)
    except InvalidName as error:
        raise InvalidSetting(f"WEIR_SELF_DATASET: {error.message}") from error


def stop(settings: Settings, _: Sequence[str]) -> None:
    """Leave, and stop what `start` started, after those have ended that would start it again, or still store."""
    with ExitStack() as ended:
        for name in ("maintenance.lock", "otlp_grpc.lock"):
            wait_for_lock(ended.enter_context((settings.data_dir / name).open("w")))
        try:
            base.bind(server.url(settings.database_url, settings.data_dir))
            layout = host.layout(settings.data_dir, settings.storage_url)
            membership.leave(layout, is_alone=settings.advertise_url is None)
        finally:
            server.stop(settings.data_dir, CATALOGUE)
            if settings.database_url is None:
                base.database.close_all()
                server.stop(settings.data_dir)


def abandon(settings: Settings, _: Sequence[str]) -> None:
    """Stop the embedded PostgreSQL of a start that has failed."""
    server.stop(settings.data_dir)


def _told(error: Exception) -> str:
    """One line. Of a database that is not reached, what its client says: host, port and reason, and no password."""
    cause = error.__cause__
    if isinstance(error, StorageUnavailable) and isinstance(cause, base.DatabaseError):
        reason = " ".join(str(cause).split())
        return f"{error} ({reason}): see WEIR_DATABASE_URL"
    return " ".join(str(error).split())


def _end(stopped: list[bool], *_: object) -> None:
    stopped.append(True)
    sys.exit(1)


def main(arguments: list[str]) -> int:
    # SIGTERM: SystemExit, so that what is open is closed; a program of PostgreSQL is never left half-way.
    stopped: list[bool] = []
    try:
        close_to_others()
        settings = Settings.from_env()
        logs.configure(settings.log_format, settings.log_level)
        logs.take_hooks()
        signal.signal(signal.SIGTERM, partial(_end, stopped))
        {"start": start, "stop": stop, "abandon": abandon}[arguments[0]](settings, arguments[1:])
    except (WeirError, InvalidSetting) as error:
        if stopped:
            # The database's client has made an error of its own of the exit.
            return 1
        print(f"weir: {_told(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
