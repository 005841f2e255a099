"""Commands about administrators that need no password, because they run on the host and read its data directory."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from getpass import getuser
from socket import gethostname
from typing import ParamSpec, TypeVar

import click

from auth.accounts import Accounts, administrators
from auth.passwords import Passwords
from auth.privileges import AUDIT_DATASET
from columns import one_row
from config import Settings
from errors import DatasetExists, WeirError
from models import dataset
from models.shared_generation import DatabaseGeneration, Generation, SharedGeneration
from models.tenant import DEFAULT
from storage.backup.data_dir import open_data_dir
from storage.context import Layout
from storage.write.arrival import Arrival
from storage.write.engine import Storage
from version import VERSION
from weirctl.client import Refused
from weirctl.printing import note, show

P = ParamSpec("P")
R = TypeVar("R")
ACTION = "admin.reset_password"


@click.group("admin")
def group() -> None:
    """The way back in, on the host itself: for who may read the data directory."""


@group.command("reset-password")
@click.argument("name", required=False)
@click.option("--tenant", default=DEFAULT, show_default=True, help="Whose administrator.")
def reset_password(name: str | None, tenant: str) -> None:
    """Give the administrator NAME (WEIR_ADMIN_USERNAME) a new password and print it. The server may run.

    The old password and the user's sessions end at once. The dataset p_audit tells of it.
    """
    settings = Settings.from_env()
    wanted = name or settings.admin_username
    with open_data_dir(settings) as layout:
        known = administrators(tenant)
        if wanted not in known:
            raise Refused(f"{wanted} is no administrator of {tenant}; these are: {', '.join(sorted(known)) or 'none'}")
        generation = _generation(settings)
        password = Accounts(Passwords(_here), generation, _now).renew_password(tenant, wanted)
        show([{"user": wanted, "password": password}])
        _audit(layout, generation, tenant, wanted)


def _generation(settings: Settings) -> Generation:
    """What tells the workers at once: as app.py has it."""
    return SharedGeneration(settings.data_dir) if settings.advertise_url is None else DatabaseGeneration()


def _audit(layout: Layout, generation: Generation, tenant: str, target: str) -> None:
    """After the change, as for requests: what cannot be recorded has been done all the same."""
    account = f"{getuser()}@{gethostname()}"
    row = one_row({"action": ACTION, "target": target, "status": 200, "actor_kind": "host", "actor_name": account})
    storage = Storage(layout, generation=generation)
    try:
        with suppress(DatasetExists):
            dataset.create(tenant, AUDIT_DATASET, telemetry_type="events")
        storage.append(storage.find(tenant, AUDIT_DATASET), row, Arrival(_now(), user_agent=f"weirctl/{VERSION}"))
    except WeirError as error:
        note(f"weirctl: the reset is done and could not be recorded in {AUDIT_DATASET}: {error}")
    finally:
        storage.close()


def _here(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)


def _now() -> datetime:
    return datetime.now(UTC)
