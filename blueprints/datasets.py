"""Datasets: create, list, describe, delete."""

from flask import Blueprint, Response, jsonify, request

from auth.privileges import Action, may, require
from blueprints import scope as scopes
from blueprints.authentication import caller, protect
from blueprints.parts import parts
from models import column, dataset
from models.dataset import Dataset
from schemas.dataset import dump_schema

blueprint = protect(Blueprint("datasets", __name__, url_prefix="/api/v1/logstream"))


@blueprint.get("")
def every() -> Response:
    """The datasets that the caller may see, by name."""
    require(caller(), Action.LIST)
    visible = [each for each in dataset.find_all(caller().tenant) if may(caller(), Action.LIST, each.name)]
    return jsonify([{"name": each.name} for each in visible])


@blueprint.put("/<name>")
def create(name: str) -> Response:
    """Create an empty dataset. 409 when there is one of that name."""
    require(caller(), Action.ADMINISTER, name)
    scope = scopes.read(request.headers)
    dataset.create(caller().tenant, scopes.checked_dataset_name(name), telemetry_type=scope.telemetry_type or "logs")
    return jsonify({"dataset": name, "message": f"dataset {name} created"})


@blueprint.delete("/<name>")
def delete(name: str) -> Response:
    """Delete the dataset and its events; the name is free at once."""
    require(caller(), Action.ADMINISTER, name)
    parts().storage.delete(caller().tenant, name)
    return jsonify({"dataset": name, "message": f"dataset {name} deleted"})


@blueprint.get("/<name>/schema")
def schema(name: str) -> Response:
    """The columns, in the order of `SELECT *`, with Arrow's type names."""
    found = _readable(name)
    columns = column.schema(found.id).columns
    return jsonify(dump_schema((each.name, each.type) for each in columns))


def _readable(name: str) -> Dataset:
    """The dataset, when the caller may read it: 403 whether or not a hidden one exists, then 404."""
    require(caller(), Action.READ_METADATA, name)
    return parts().storage.find(caller().tenant, name)
