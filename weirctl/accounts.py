"""Commands about who may do what: API keys, roles, users, tenants."""

from typing import Any, Final

import click

from weirctl.client import Server, quoted
from weirctl.printing import note, show

API_KEYS: Final = "/api/console/v1/apikeys"


@click.group()
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
    show([server.call("GET", f"{API_KEYS}/{quoted(key_id)}").json()])


@key.command("delete")
@click.argument("key_id")
@click.pass_obj
def delete_key(server: Server, key_id: str) -> None:
    """Delete a key. It is dead at once, in every worker."""
    show([server.call("DELETE", f"{API_KEYS}/{quoted(key_id)}").json()])


@click.group()
def role() -> None:
    """Roles: put, list, delete."""


@role.command("put")
@click.argument("name")
@click.argument("entries", nargs=-1, required=True, metavar="PRIVILEGE[:DATASET[:FIELD=VALUE]]...")
@click.pass_obj
def put_role(server: Server, name: str, entries: tuple[str, ...]) -> None:
    """Create or replace a role, as `role put shippers ingestor:app ingestor:web`."""
    body = [_entry(each) for each in entries]
    server.call("PUT", f"/api/v1/role/{quoted(name)}", json=body)
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
    server.call("DELETE", f"/api/v1/role/{quoted(name)}")


@click.group()
def user() -> None:
    """Users: create, list, roles, new password, delete."""


@user.command("create")
@click.argument("name")
@click.option("--role", "roles", multiple=True, help="A role the user holds; may be repeated.")
@click.pass_obj
def create_user(server: Server, name: str, roles: tuple[str, ...]) -> None:
    """Create a user and print the password."""
    click.echo(server.call("POST", f"/api/v1/user/{quoted(name)}", json=list(roles)).json())


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
    click.echo(server.call("POST", f"/api/v1/user/{quoted(name)}/generate-new-password").json())


@user.group("role")
def user_role() -> None:
    """The roles of a user: list, add, remove, set."""


@user_role.command("list")
@click.argument("name")
@click.pass_obj
def list_user_roles(server: Server, name: str) -> None:
    """What the user holds."""
    held = server.call("GET", f"/api/v1/user/{quoted(name)}/role").json()["roles"]
    show([{"role": each, "entries": entries} for each, entries in held.items()], ["role", "entries"])


@user_role.command("add")
@click.argument("name")
@click.argument("roles", nargs=-1, required=True)
@click.pass_obj
def add_user_roles(server: Server, name: str, roles: tuple[str, ...]) -> None:
    """Give the user ROLES beside those that it holds."""
    server.call("PATCH", f"/api/v1/user/{quoted(name)}/role/add", json=list(roles))


@user_role.command("remove")
@click.argument("name")
@click.argument("roles", nargs=-1, required=True)
@click.pass_obj
def remove_user_roles(server: Server, name: str, roles: tuple[str, ...]) -> None:
    """Take ROLES from the user, at once and in every worker."""
    server.call("PATCH", f"/api/v1/user/{quoted(name)}/role/remove", json=list(roles))


@user_role.command("set")
@click.argument("name")
@click.argument("roles", nargs=-1)
@click.pass_obj
def set_user_roles(server: Server, name: str, roles: tuple[str, ...]) -> None:
    """Let the user hold ROLES and no others."""
    server.call("PUT", f"/api/v1/user/{quoted(name)}/role", json=list(roles))


@user.command("delete")
@click.argument("name")
@click.pass_obj
def delete_user(server: Server, name: str) -> None:
    """Delete a user, whose sessions end at once."""
    server.call("DELETE", f"/api/v1/user/{quoted(name)}")


@click.group()
def tenant() -> None:
    """Tenants of a server that has several."""


@tenant.command("create")
@click.argument("name")
@click.option("--admin", required=True, help="Name of the tenant's first administrator.")
@click.pass_obj
def create_tenant(server: Server, name: str, admin: str) -> None:
    """Create a tenant and print its administrator's password."""
    show([server.call("PUT", f"/api/v1/tenants/{quoted(name)}", json={"admin": admin}).json()])


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
    server.call("DELETE", f"/api/v1/tenants/{quoted(name)}{'?purge=true' if purge else ''}")


def _entry(text: str) -> dict[str, Any]:
    """A privilege entry.

    >>> _entry("reader:app:env=prod")
    {'privilege': 'reader', 'resource': {'dataset': 'app', 'tag': 'env=prod'}}
    """
    privilege, dataset_name, tag = ([*text.split(":", 2), "", ""])[:3]
    resource = {name: value for name, value in (("dataset", dataset_name), ("tag", tag)) if value}
    return {"privilege": privilege, **({"resource": resource} if resource else {})}
