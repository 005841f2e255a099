"""Who is asking, and what they may do anywhere: what a user interface needs to know to show what works."""

from flask import Blueprint, Response

from auth.identity import Entry
from auth.privileges import GRANTS, Action, may, require, sees_all_rows
from models import dataset, host
from models.dataset import Dataset
from models.host import Host
from web.authentication import protect
from web.caller import caller
from web.json_bodies import json_response
from web.services import services
from web.times import rfc3339

blueprint = protect(Blueprint("session", __name__, url_prefix="/api/v1"))


@blueprint.get("/session")
def show() -> Response:
    """The identity of this request, whatever it was proven by, with its rights."""
    identity = caller()
    actions = {action for entry in identity.entries for action in GRANTS[entry.privilege]}
    return json_response(
        {
            "kind": identity.kind.value,
            "id": identity.id,
            "name": identity.name,
            "tenant": identity.tenant,
            "roles": list(identity.roles),
            "entries": [_as_object(entry) for entry in identity.entries],
            "mayQuery": may(identity, Action.QUERY),
            "mayAuthor": Action.AUTHOR in actions,
            "mayIngest": Action.INGEST in actions,
            "mayAdminister": may(identity, Action.ADMINISTER),
            "seesAllRows": sees_all_rows(identity),
            "multiTenant": services().settings.multi_tenant,
        }
    )


@blueprint.get("/session/datasets")
def datasets() -> Response:
    """The datasets that the caller may read, with what a chart over time needs to know of each."""
    require(caller(), Action.LIST)
    populated = dataset.populated(caller().tenant)
    visible = [each for each in dataset.find_all(caller().tenant) if may(caller(), Action.QUERY, each.name)]
    return json_response([_dataset(each, each.id in populated) for each in visible])


@blueprint.get("/hosts")
def hosts() -> Response:
    """The hosts of the deployment, and which of them queries wait for: to administrators."""
    require(caller(), Action.ADMINISTER)
    return json_response([_host(each) for each in host.list_all()])


def _as_object(entry: Entry) -> dict[str, str | None]:
    tag = None if entry.tag is None else f"{entry.tag.field}={entry.tag.value}"
    return {"privilege": entry.privilege.value, "dataset": entry.dataset, "tag": tag}


def _dataset(each: Dataset, is_populated: bool) -> dict[str, object]:
    """Whoever may read some rows is not told whether there are any (as `/api/prism/v1/home`)."""
    sees_all = sees_all_rows(caller(), each.name)
    return {
        "name": each.name,
        "telemetryType": each.telemetry_type,
        "timeColumn": None if each.is_lookup else each.time_column,
        "hasEvents": is_populated or not sees_all,
        "seesAllRows": sees_all,
        "mayAuthor": may(caller(), Action.AUTHOR, each.name),
    }


def _host(each: Host) -> dict[str, object]:
    return {
        "name": each.name,
        "url": each.url,
        "state": _state(each),
        "self": each.name == services().storage.layout.node,
        "startedAt": rfc3339(each.started_at),
        "seenAt": rfc3339(each.seen_at),
    }


def _state(each: Host) -> str:
    if each.left_at is not None:
        return "left"
    if each.dropped_at is not None:
        return "dropped"
    return "living" if each.is_living else "missing"
