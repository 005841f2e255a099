"""The bodies of role requests: an array of entries, or an object that holds it."""

from collections.abc import Mapping

from marshmallow import RAISE, Schema, fields, validate

from errors import InvalidRole
from schemas.reading import load


class RoleSchema(Schema):
    """The object form: what GET answers, so that it can be sent back as it is."""

    class Meta:
        unknown = RAISE

    actions = fields.List(fields.Raw(), required=True)
    role_type = fields.String(data_key="roleType", validate=validate.Equal("user"), load_default="user")


def role_object(entries: object) -> Mapping[str, object]:
    """A role as it is shown."""
    return {"actions": entries, "roleType": "user"}


def load_entries(body: object) -> list[object]:
    """The entries as they were sent, of either form; auth.privileges judges them. Raises InvalidRole."""
    if isinstance(body, Mapping):
        body = load(RoleSchema(), body)["actions"]
    if not isinstance(body, list):
        raise InvalidRole("a role is an array of privilege entries, or an object with that array as `actions`")
    return body


def load_names(body: object) -> list[str]:
    """An array of role names, as the user routes take it. Raises InvalidRole."""
    if not isinstance(body, list) or not all(isinstance(name, str) and name.isprintable() for name in body):
        raise InvalidRole("the body is an array of role names", field="roles")
    return body


def load_name(body: object) -> str | None:
    """One role name, or null. Raises InvalidRole."""
    if body is not None and not (isinstance(body, str) and body.isprintable()):
        raise InvalidRole("the body is a role's name as a JSON string, or null")
    return body
