"""The bodies of API-key requests (spec 4.1)."""

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate


def _text(value: str) -> None:
    """Printable and without lone surrogates, so that it can be stored, logged and shown as it is."""
    if not value.isprintable():
        raise ValidationError("Contains unprintable characters.")


class NewApiKeySchema(Schema):
    """`keyName` and `roles` are required (spec 2.1); unknown members are ignored."""

    class Meta:
        unknown = EXCLUDE

    name = fields.String(data_key="keyName", required=True, validate=[validate.Length(1, 200), _text])
    roles = fields.List(
        fields.String(validate=[validate.Length(1, 200), _text]), required=True, validate=validate.Length(max=100)
    )
    expires_at = fields.AwareDateTime(data_key="expiresAt", format="iso", allow_none=True, load_default=None)
