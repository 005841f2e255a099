"""The commands. Exit codes: 0 done, 1 refused or damaged, 2 wrong usage (click's own), 130 interrupted."""

import os
import sys

import click

import version
from config import InvalidSetting
from errors import WeirError
from weirctl.accounts import key, role, tenant, user
from weirctl.administrators import group as administrators
from weirctl.authored import alert, dashboard, target
from weirctl.client import Refused
from weirctl.data import backup, check, repair, restore, settings
from weirctl.datasets import dataset
from weirctl.demo import demo
from weirctl.events import ingest
from weirctl.hosts import group as hosts
from weirctl.printing import note
from weirctl.profiles import group as profiles
from weirctl.profiles import server_of
from weirctl.questions import queries, query
from weirctl.tail import tail


@click.group(context_settings={"auto_envvar_prefix": "WEIRCTL", "help_option_names": ["-h", "--help"]})
@click.option("--url", help="The server.  [WEIRCTL_URL; http://127.0.0.1:8000]")
@click.option("--user", help="NAME:PASSWORD of a user, or NAME to be asked.  [WEIRCTL_USER]")
@click.option("--api-key", help="The secret of an API key.  [WEIRCTL_API_KEY]")
@click.option("--tenant", help="The tenant, for a server of several.  [WEIRCTL_TENANT]")
@click.option("--profile", help="A profile of the configuration file.  [WEIRCTL_PROFILE; default]")
@click.version_option(version.VERSION, prog_name="weirctl")
@click.pass_context
def group(context: click.Context, /, **_: str | None) -> None:
    """Operate a Weir. What is given on the command line wins over the environment, and that over the profile."""
    context.obj = server_of(context)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        sys.exit(group(prog_name="weirctl", standalone_mode=False))
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (Refused, WeirError, InvalidSetting) as error:
        note(f"weirctl: {error}")
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read from us, as `head`, has seen enough; the interpreter's last flush must not meet that pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


for command in (
    key,
    role,
    user,
    tenant,
    dataset,
    alert,
    dashboard,
    target,
    ingest,
    query,
    queries,
    tail,
    demo,
    profiles,
):
    group.add_command(command)
for command in (check, repair, backup, restore, settings, hosts, administrators):
    group.add_command(command)
