"""Tenants over HTTP, for root administrators of a server of several tenants."""

from typing import cast

from flask import Blueprint, Response, request

from auth.privileges import AUDIT_DATASET
from auth.tenants import require_root
from errors import InvalidRequest, TenantNotEmpty, TenantNotFound
from models import dataset, tenant
from models.tenant import TenantRecord
from schemas.reading import load
from schemas.tenants import NewTenantSchema
from web.audit import watch
from web.authentication import access, protect
from web.caller import caller
from web.json_bodies import json_body, json_response
from web.services import services
from web.times import rfc3339

blueprint = watch(protect(Blueprint("tenants", __name__, url_prefix="/api/v1/tenants")), "tenant")


@blueprint.before_request
def require_root_administrator() -> None:
    require_root(caller())
    if not access().multi_tenant:
        raise InvalidRequest("this server has one tenant; WEIR_MULTI_TENANT=true lets it have more")


@blueprint.get("")
def list_all() -> Response:
    return json_response([_as_object(each) for each in tenant.list_all()])


@blueprint.get("/<tenant_id>")
def get(tenant_id: str) -> Response:
    return json_response(_as_object(tenant.get(tenant_id)))


@blueprint.put("/<tenant_id>")
def create(tenant_id: str) -> Response:
    username = cast(str, load(NewTenantSchema(), json_body())["admin"])
    _require_empty(tenant_id)
    made = access().tenants.create(tenant_id, username)
    administrator = {"username": made.username, "password": made.password}
    return json_response({"tenantId": made.id, "createdAt": rfc3339(made.created_at), "admin": administrator})


@blueprint.delete("/<tenant_id>")
def delete(tenant_id: str) -> Response:
    """With `?purge=true` also its datasets; the identities go first, so that nobody writes meanwhile.

    A purge that was cut short is finished by another one, though the tenant itself is gone.
    """
    if request.args.get("purge") != "true":
        _require_empty(tenant_id)
    try:
        access().tenants.delete(tenant_id)
    except TenantNotFound:
        if not _datasets(tenant_id):
            raise
    for name in _datasets(tenant_id):
        services().storage.delete(tenant_id, name)
    return json_response({"tenantId": tenant_id, "message": "tenant deleted"})


def _require_empty(tenant_id: str) -> None:
    """A new tenant must not find the datasets of a former one of its name. Its audit does not count, and goes too."""
    count = len([name for name in _datasets(tenant_id) if name != AUDIT_DATASET])
    if count:
        raise TenantNotEmpty(f"tenant {tenant_id} holds {count} datasets", datasets=count)


def _datasets(tenant_id: str) -> list[str]:
    return [each.name for each in dataset.find_all(tenant_id)]


def _as_object(record: TenantRecord) -> dict[str, str | None]:
    return {"tenantId": record.id, "createdAt": rfc3339(record.created_at)}
