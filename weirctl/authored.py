"""Commands about what users write: alerts, dashboards and targets, each a JSON document."""

import json
from typing import IO, Any

import click

from weirctl.client import Server, quoted
from weirctl.printing import note, show


def _group(noun: str, identifier: str, listed: tuple[str, ...]) -> click.Group:
    """`weirctl NOUN list|show|create|delete`, which the API has under `/api/v1/NOUNs`."""
    path = f"/api/v1/{noun}s"

    @click.group(noun, help=f"{noun.capitalize()}s: list, show, create from JSON, delete.")
    def group() -> None: ...

    @group.command("list", help=f"The {noun}s that you may see.")
    @click.pass_obj
    def list_all(server: Server) -> None:
        show(server.call("GET", path).json(), listed)

    @group.command("show", help=f"One {noun}, as JSON that `create` takes.")
    @click.argument(identifier)
    @click.pass_obj
    def show_one(server: Server, /, **named: str) -> None:
        found = server.call("GET", f"{path}/{quoted(named[identifier])}").json()
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))

    @group.command("create", help=f"Create a {noun} from a JSON FILE (`-`: standard input) and print its id.")
    @click.argument("file", type=click.File("rb"))
    @click.pass_obj
    def create(server: Server, file: IO[bytes]) -> None:
        made = server.call("POST", path, json=_document(file)).json()
        show([{each: made.get(each) for each in listed}])

    @group.command("delete", help=f"Delete a {noun}.")
    @click.argument(identifier)
    @click.pass_obj
    def delete(server: Server, /, **named: str) -> None:
        server.call("DELETE", f"{path}/{quoted(named[identifier])}")
        note(f"{noun} {named[identifier]} deleted")

    return group


def _document(file: IO[bytes]) -> Any:
    try:
        return json.load(file)
    except ValueError as error:
        raise click.UsageError(f"{file.name}: not JSON: {error}") from error


alert = _group("alert", "alert_id", ("id", "title", "severity", "state", "datasets"))
dashboard = _group("dashboard", "dashboard_id", ("dashboardId", "title", "author", "modified"))
target = _group("target", "target_id", ("id", "name", "type", "endpoint"))
