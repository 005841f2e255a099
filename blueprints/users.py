"""Users and the roles they hold. API keys are no users and never listed here (spec 2.1)."""

from flask import Blueprint, Response, request

from auth.identity import Kind
from auth.privileges import Action, require
from models import user
from models.user import UserRecord
from schemas.roles import load_names, role_object
from web.audit import watch
from web.authentication import access, protect
from web.caller import caller
from web.json_bodies import json_body, json_body_or, json_response

blueprint = watch(protect(Blueprint("users", __name__, url_prefix="/api/v1")), "user")


@blueprint.get("/user")
def names() -> Response:
    require(caller(), Action.ADMINISTER)
    return json_response([{"id": each.name, "method": each.method} for each in user.list_all(caller().tenant)])


@blueprint.get("/users")
def list_all() -> Response:
    require(caller(), Action.ADMINISTER)
    return json_response([_as_object(each) for each in user.list_all(caller().tenant)])


@blueprint.get("/users/<name>")
def get(name: str) -> Response:
    _require_self_or_administrator(name)
    return json_response(_as_object(user.get(caller().tenant, name)))


@blueprint.post("/user/<name>")
def create(name: str) -> Response:
    require(caller(), Action.ADMINISTER)
    roles = load_names(json_body_or([]))
    return _password(access().accounts.create_user(caller().tenant, name, roles))


@blueprint.delete("/user/<name>")
def delete(name: str) -> Response:
    require(caller(), Action.ADMINISTER)
    access().accounts.delete_user(caller().tenant, name)
    return json_response(f"deleted user: {name}")


@blueprint.post("/user/<name>/generate-new-password")
def renew_password(name: str) -> Response:
    require(caller(), Action.ADMINISTER)
    return _password(access().accounts.renew_password(caller().tenant, name))


@blueprint.get("/user/<name>/role")
def get_roles(name: str) -> Response:
    _require_self_or_administrator(name)
    held = user.get(caller().tenant, name).roles
    return json_response({"roles": {each.name: role_object(each.entries) for each in held}, "group_roles": {}})


@blueprint.put("/user/<name>/role")
def set_roles(name: str) -> Response:
    require(caller(), Action.ADMINISTER)
    access().accounts.set_roles(caller().tenant, name, load_names(json_body()))
    return _updated(name)


@blueprint.patch("/user/<name>/role/add")
def add_roles(name: str) -> Response:
    require(caller(), Action.ADMINISTER)
    access().accounts.add_roles(caller().tenant, name, load_names(json_body()))
    return _updated(name)


@blueprint.patch("/user/<name>/role/remove")
def remove_roles(name: str) -> Response:
    require(caller(), Action.ADMINISTER)
    access().accounts.remove_roles(caller().tenant, name, load_names(json_body()))
    return _updated(name)


def _require_self_or_administrator(name: str) -> None:
    """Everybody may see what they hold themselves; a key is not the user whose name it may happen to bear."""
    identity = caller()
    if identity.kind is Kind.API_KEY or identity.id != name:
        require(identity, Action.ADMINISTER)


def _password(password: str) -> Response:
    """As a JSON string, or bare for a client that asks for text."""
    best = request.accept_mimetypes.best_match(["application/json", "text/plain"], default="application/json")
    shown = Response(password, mimetype="text/plain") if best == "text/plain" else json_response(password)
    shown.headers["Cache-Control"] = "no-store"
    return shown


def _updated(name: str) -> Response:
    return json_response(f"Roles updated successfully for {name}")


def _as_object(record: UserRecord) -> dict[str, object]:
    return {
        "id": record.name,
        "username": record.name,
        "method": record.method,
        "email": record.email,
        "picture": None,
        "roles": {each.name: each.entries for each in record.roles},
        "group_roles": {},
        "user_groups": [],
    }
