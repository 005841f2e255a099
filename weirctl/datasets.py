"""Commands about datasets: create, list, describe, retain, delete."""

from collections.abc import Mapping
from typing import Any, Final

import click

from weirctl.client import Server, quoted
from weirctl.printing import bytes_text, note, show

DATASETS: Final = "/api/v1/logstream"


@click.group()
def dataset() -> None:
    """Datasets: create, list, schema, info, stats, senders, retention, event-time, delete."""


@dataset.command("create")
@click.argument("name")
@click.option("--time-field", help="The field of the events that is their time. Without it: the time of arrival.")
@click.option("--lookup", is_flag=True, help="Rows without a time, such as owners of hosts: no time range cuts them.")
@click.option("--partition", help="A field by which files are divided.")
@click.pass_obj
def create_dataset(server: Server, name: str, time_field: str | None, lookup: bool, partition: str | None) -> None:
    """Create an empty dataset. The first event creates one too, with the time of arrival as its time."""
    named = {
        "X-P-Time-Partition": time_field,
        "X-P-Dataset-Kind": "lookup" if lookup else None,
        "X-P-Custom-Partition": partition,
    }
    headers = {key: value for key, value in named.items() if value}
    server.call("PUT", f"{DATASETS}/{quoted(name)}", headers=headers)
    note(f"dataset {name} created; its time is {time_field or 'none' if lookup else time_field or 'that of arrival'}")


@dataset.command("list")
@click.pass_obj
def list_datasets(server: Server) -> None:
    """The datasets, with their events and bytes."""
    names = [each["name"] for each in server.call("GET", DATASETS).json()]
    show([_size(server, name) for name in names], ["name", "events", "bytes", "stored_bytes", "latest"])


@dataset.command("schema")
@click.argument("name")
@click.pass_obj
def show_schema(server: Server, name: str) -> None:
    """The columns of a dataset, with Arrow's types."""
    found = server.call("GET", f"{DATASETS}/{quoted(name)}/schema").json()
    show(found["fields"], ["name", "data_type"])


@dataset.command("info")
@click.argument("name")
@click.pass_obj
def show_info(server: Server, name: str) -> None:
    """What a dataset is: its time field, its kind, its first and latest event."""
    show([server.call("GET", f"{DATASETS}/{quoted(name)}/info").json()])


@dataset.command("stats")
@click.argument("name")
@click.option("--date", help="Of one day, YYYY-MM-DD.")
@click.pass_obj
def show_stats(server: Server, name: str, date: str | None) -> None:
    """Events and bytes, exactly: of all time, or of one day."""
    path = f"{DATASETS}/{quoted(name)}/stats"
    show([server.call("GET", f"{path}?date={quoted(date)}").json() if date else _size(server, name)])


@dataset.command("senders")
@click.argument("name")
@click.option("--hours", type=click.IntRange(1, 24), default=1, show_default=True, help="How far back.")
@click.pass_obj
def show_senders(server: Server, name: str, hours: int) -> None:
    """Who sends how much: each key and user, the largest first. Rates are of the last five to ten minutes."""
    answer = server.call("GET", f"{DATASETS}/{quoted(name)}/senders?hours={hours}").json()
    show([_as_line(each) for each in answer["senders"]])


@dataset.command("retention")
@click.argument("name")
@click.argument("days", required=False, type=click.IntRange(min=1))
@click.option("--forever", is_flag=True, help="Keep events for ever.")
@click.pass_obj
def retention(server: Server, name: str, days: int | None, forever: bool) -> None:
    """Show how long events are kept, or keep them DAYS from now on."""
    if days and forever:
        raise click.UsageError("give DAYS or --forever, not both")
    path = f"{DATASETS}/{quoted(name)}/retention"
    if days or forever:
        tasks = [{"description": "set by weirctl", "action": "delete", "duration": f"{days}d"}] if days else []
        server.call("PUT", path, json=tasks)
    kept = server.call("GET", path).json()
    note(f"events of {name} are kept {kept[0]['duration'] if kept else 'for ever'}")


@dataset.command("event-time")
@click.argument("name")
@click.argument("field")
@click.pass_obj
def event_time(server: Server, name: str, field: str) -> None:
    """Let a dataset that goes by arrival go by FIELD, for what is stored already too. It stays so."""
    server.call("PUT", f"{DATASETS}/{quoted(name)}/event-time", json={"field": field})
    note(f"dataset {name} goes by {field}; events in which it cannot be read as a time keep that of their arrival")


@dataset.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete_dataset(server: Server, name: str, yes: bool) -> None:
    """Delete a dataset and its events."""
    if not yes:
        size = _size(server, name)
        what = f"Dataset {name}, {size['events']:,} events, {bytes_text(int(size['stored_bytes']))} on disk"
        click.confirm(f"{what}: all of it will be gone. Delete it?", abort=True, err=True)
    server.call("DELETE", f"{DATASETS}/{quoted(name)}")


def _as_line(sender: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "sender": sender["name"] or sender["id"],
        "kind": sender["kind"],
        "events_per_second": sender["eventsPerSecond"],
        "bytes_per_second": sender["bytesPerSecond"],
        "events": sender["events"],
        "bytes": sender["bytes"],
        "requests": sender["requests"],
        "latest": sender["latestAt"],
    }


def _size(server: Server, name: str) -> dict[str, Any]:
    stats = server.call("GET", f"/api/v1/logstream/{quoted(name)}/stats").json()
    counted = stats["ingestion"]
    return {
        "name": name,
        "events": counted["count"],
        "bytes": counted["size"],
        "stored_bytes": stats["storage"]["size"],
        "latest": stats["time"],
    }
