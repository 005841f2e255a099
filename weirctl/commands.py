"""The commands. Exit codes: 0 done, 1 refused or damaged, 2 wrong usage (click's own), 130 interrupted."""

import os
import sys
from functools import partial
from typing import Any
from urllib.parse import quote

import click

import version
from config import InvalidSetting
from errors import WeirError
from weirctl.administrators import group as administrators
from weirctl.client import Refused, Server
from weirctl.data import backup, check, repair, restore, settings
from weirctl.events import ingest
from weirctl.hosts import group as hosts
from weirctl.printing import note, show
from weirctl.questions import query

API_KEYS = "/api/console/v1/apikeys"


@click.group(context_settings={"auto_envvar_prefix": "WEIRCTL", "help_option_names": ["-h", "--help"]})
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="The server. [WEIRCTL_URL]")
@click.option("--user", help="NAME:PASSWORD of a user. [WEIRCTL_USER]")
@click.option("--api-key", help="The secret of an API key. [WEIRCTL_API_KEY]")
@click.option("--tenant", help="The tenant, for a server of several. [WEIRCTL_TENANT]")
@click.version_option(version.VERSION, prog_name="weirctl")
@click.pass_context
def group(context: click.Context, url: str, user: str | None, api_key: str | None, tenant: str | None) -> None:
    """Operate a Weir. Credentials are better given in the environment than on the command line."""
    if user and api_key:
        raise click.UsageError("give --user or --api-key, not both")
    name, _, password = (user or "").partition(":")
    context.obj = Server(url, (name, password) if user else None, api_key, tenant)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        sys.exit(group(standalone_mode=False))
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


@group.group()
def key() -> None:
    """API keys: create, list, show, delete."""


@key.command("create")
@click.argument("name")
@click.option("--role", "roles", multiple=True, required=True, help="A role the key holds; may be repeated.")
@click.option("--expires-at", help="RFC 3339.")
@click.pass_obj
def create_key(server: Server, name: str, roles: tuple[str, ...], expires_at: str | None) -> None:
    """Create a key and print it, its secret included."""
    body = {"keyName": name, "roles": list(roles), "expiresAt": expires_at}
    show([server.call("POST", API_KEYS, json=body).json()])


@key.command("list")
@click.pass_obj
def list_keys(server: Server) -> None:
    """All keys, secrets masked."""
    show(server.call("GET", API_KEYS).json(), ["keyId", "keyName", "apiKey", "roles", "createdBy", "lastUsedAt"])


@key.command("show")
@click.argument("key_id")
@click.pass_obj
def show_key(server: Server, key_id: str) -> None:
    """One key with its secret."""
    show([server.call("GET", f"{API_KEYS}/{_quoted(key_id)}").json()])


@key.command("delete")
@click.argument("key_id")
@click.pass_obj
def delete_key(server: Server, key_id: str) -> None:
    """Delete a key. It is dead at once, in every worker."""
    show([server.call("DELETE", f"{API_KEYS}/{_quoted(key_id)}").json()])


@group.group()
def role() -> None:
    """Roles: put, list, delete."""


@role.command("put")
@click.argument("name")
@click.argument("entries", nargs=-1, required=True, metavar="PRIVILEGE[:DATASET[:FIELD=VALUE]]...")
@click.pass_obj
def put_role(server: Server, name: str, entries: tuple[str, ...]) -> None:
    """Create or replace a role, as `role put shippers ingestor:app ingestor:web`."""
    body = [_entry(each) for each in entries]
    server.call("PUT", f"/api/v1/role/{_quoted(name)}", json=body)
    note(f"role {name} has {len(body)} entries")


@role.command("list")
@click.pass_obj
def list_roles(server: Server) -> None:
    """All roles and their entries."""
    show({"name": name, "entries": entries} for name, entries in server.call("GET", "/api/v1/roles").json().items())


@role.command("delete")
@click.argument("name")
@click.pass_obj
def delete_role(server: Server, name: str) -> None:
    """Delete a role that nobody holds."""
    server.call("DELETE", f"/api/v1/role/{_quoted(name)}")


@group.group()
def user() -> None:
    """Users: create, list, new password, delete."""


@user.command("create")
@click.argument("name")
@click.option("--role", "roles", multiple=True, help="A role the user holds; may be repeated.")
@click.pass_obj
def create_user(server: Server, name: str, roles: tuple[str, ...]) -> None:
    """Create a user and print the password."""
    click.echo(server.call("POST", f"/api/v1/user/{_quoted(name)}", json=list(roles)).json())


@user.command("list")
@click.pass_obj
def list_users(server: Server) -> None:
    """All users and what they hold."""
    show(server.call("GET", "/api/v1/users").json(), ["id", "method", "email", "roles"])


@user.command("renew-password")
@click.argument("name")
@click.pass_obj
def renew_password(server: Server, name: str) -> None:
    """Give a user a new password and print it."""
    click.echo(server.call("POST", f"/api/v1/user/{_quoted(name)}/generate-new-password").json())


@user.command("delete")
@click.argument("name")
@click.pass_obj
def delete_user(server: Server, name: str) -> None:
    """Delete a user, whose sessions end at once."""
    server.call("DELETE", f"/api/v1/user/{_quoted(name)}")


@group.group()
def tenant() -> None:
    """Tenants of a server that has several."""


@tenant.command("create")
@click.argument("name")
@click.option("--admin", required=True, help="Name of the tenant's first administrator.")
@click.pass_obj
def create_tenant(server: Server, name: str, admin: str) -> None:
    """Create a tenant and print its administrator's password."""
    show([server.call("PUT", f"/api/v1/tenants/{_quoted(name)}", json={"admin": admin}).json()])


@tenant.command("list")
@click.pass_obj
def list_tenants(server: Server) -> None:
    """All tenants."""
    show(server.call("GET", "/api/v1/tenants").json())


@tenant.command("delete")
@click.argument("name")
@click.option("--purge", is_flag=True, help="Delete its datasets too.")
@click.pass_obj
def delete_tenant(server: Server, name: str, purge: bool) -> None:
    """Delete a tenant, which must be empty unless --purge is given."""
    server.call("DELETE", f"/api/v1/tenants/{_quoted(name)}{'?purge=true' if purge else ''}")


@group.group()
def dataset() -> None:
    """Datasets: list, show, delete."""


@dataset.command("list")
@click.pass_obj
def list_datasets(server: Server) -> None:
    """The datasets, with their events and bytes."""
    names = [each["name"] for each in server.call("GET", "/api/v1/logstream").json()]
    show(_size(server, name) for name in names)


@dataset.command("schema")
@click.argument("name")
@click.pass_obj
def show_schema(server: Server, name: str) -> None:
    """The columns of a dataset."""
    found = server.call("GET", f"/api/v1/logstream/{_quoted(name)}/schema").json()
    show(found["fields"], ["name", "data_type"])


@dataset.command("delete")
@click.argument("name")
@click.confirmation_option(prompt="All its events will be gone. Delete it?")
@click.pass_obj
def delete_dataset(server: Server, name: str) -> None:
    """Delete a dataset and its events."""
    server.call("DELETE", f"/api/v1/logstream/{_quoted(name)}")


def _size(server: Server, name: str) -> dict[str, Any]:
    stats = server.call("GET", f"/api/v1/logstream/{_quoted(name)}/stats").json()
    counted = stats["ingestion"]
    return {
        "name": name,
        "events": counted["count"],
        "bytes": counted["size"],
        "stored_bytes": stats["storage"]["size"],
        "latest": stats["time"],
    }


def _entry(text: str) -> dict[str, Any]:
    """A privilege entry.

    >>> _entry("reader:app:env=prod")
    {'privilege': 'reader', 'resource': {'dataset': 'app', 'tag': 'env=prod'}}
    """
    privilege, dataset_name, tag = ([*text.split(":", 2), "", ""])[:3]
    resource = {name: value for name, value in (("dataset", dataset_name), ("tag", tag)) if value}
    return {"privilege": privilege, **({"resource": resource} if resource else {})}


_quoted = partial(quote, safe="")

for command in (ingest, query, check, repair, backup, restore, settings, hosts, administrators):
    group.add_command(command)
