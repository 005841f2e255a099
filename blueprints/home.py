"""The list of datasets that Parseable's command line shows."""

from typing import Final

from flask import Blueprint, Response, jsonify

from auth.privileges import Action, may, require, sees_all_rows
from models import dataset
from models.dataset import Dataset
from web.authentication import protect
from web.caller import caller

blueprint = protect(Blueprint("home", __name__, url_prefix="/api/prism/v1"))

FORMATS: Final = {"logs": "json", "metrics": "otel-metrics", "traces": "otel-traces", "events": "json"}


@blueprint.get("/home")
def home() -> Response:
    """The datasets that the caller may see, each with its kind and whether it ever got an event.

    Whoever may read some rows is not told whether there are any: their datasets all count as having got one.
    """
    require(caller(), Action.LIST)
    populated = dataset.populated(caller().tenant)
    visible = [each for each in dataset.find_all(caller().tenant) if may(caller(), Action.LIST, each.name)]
    found = [_as_object(each, each.id in populated or not sees_all_rows(caller(), each.name)) for each in visible]
    return jsonify({"datasets": found, "checklist": {"dataIngested": any(each["ingestion"] for each in found)}})


def _as_object(target: Dataset, is_populated: bool) -> dict[str, str | bool]:
    return {
        "title": target.name,
        "datasetType": target.telemetry_type,
        "datasetFormat": FORMATS.get(target.telemetry_type, "json"),
        "ingestion": is_populated,
    }
