"""Roles: lists of privilege entries, given back as they were sent, and the default role of OIDC users."""

from typing import cast

from flask import Blueprint, Response

from auth.privileges import Action, parse_entries, require
from models import role, tenant
from models.role import RawEntries, RoleRecord
from schemas.roles import load_entries, load_name, role_object
from web.audit import watch
from web.authentication import access, protect
from web.caller import caller
from web.json_bodies import json_body, json_response

blueprint = watch(protect(Blueprint("roles", __name__, url_prefix="/api/v1")), "role")


@blueprint.before_request
def require_administrator() -> None:
    require(caller(), Action.ADMINISTER)


@blueprint.get("/roles")
@blueprint.get("/role")
def list_all() -> Response:
    return json_response({each.name: each.entries for each in role.list_all(caller().tenant)})


@blueprint.get("/role/default")
def get_default() -> Response:
    return json_response(tenant.default_role(caller().tenant))


@blueprint.put("/role/default")
def put_default() -> Response:
    name = load_name(json_body())
    access().accounts.set_default_role(caller().tenant, name)
    return json_response(name)


@blueprint.get("/role/<name>")
def get(name: str) -> Response:
    return json_response(role_object(role.get(caller().tenant, name).entries))


@blueprint.put("/role/<name>")
def put(name: str) -> Response:
    entries = load_entries(json_body())
    parse_entries(entries)
    record = RoleRecord(name, cast(RawEntries, entries))
    access().accounts.put_role(caller().tenant, name, record.entries)
    return json_response(role_object(record.entries))


@blueprint.delete("/role/<name>")
def delete(name: str) -> Response:
    access().accounts.delete_role(caller().tenant, name)
    return json_response(f"deleted role: {name}")
