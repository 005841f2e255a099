"""The bodies of target requests (api.md section 3): a schema for each kind of target."""

from collections.abc import Mapping
from typing import Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate, validates_schema

from schemas.authored import title

KINDS: Final = ("webhook", "slack", "alertManager")
MASK: Final = "********"
LONGEST_URL: Final = 2000
MOST_HEADERS: Final = 20
# RFC 9110 section 5.6.2.
HEADER_NAME: Final = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z"
# The framing of a request is ours; another Host would send it past the check of the address.
RESERVED_HEADERS: Final = frozenset(
    "host content-length content-type transfer-encoding connection upgrade te trailer expect keep-alive".split()
)


def _unmasked(value: str) -> None:
    """What was shown masked cannot be sent back: it would become the secret."""
    if MASK in value:
        raise ValidationError("This is the masked form. Send the value itself.")


def _header_value(value: str) -> None:
    if not value.isascii() or not value.isprintable():
        raise ValidationError("Must be printable ASCII.")


class CredentialsSchema(Schema):
    """Basic authentication; a colon would end the user name (RFC 7617)."""

    class Meta:
        unknown = EXCLUDE

    username = fields.String(required=True, validate=[validate.Length(1, 200), validate.ContainsNoneOf(":"), _unmasked])
    password = fields.String(required=True, validate=[validate.Length(1, 1000), _unmasked])


class TargetSchema(Schema):
    class Meta:
        unknown = EXCLUDE

    name = title(required=True)
    kind = fields.String(data_key="type", required=True, validate=validate.OneOf(KINDS))
    endpoint = fields.String(required=True, validate=[validate.Length(1, LONGEST_URL), _unmasked])
    headers = fields.Dict(
        keys=fields.String(validate=validate.Regexp(HEADER_NAME, error="Must be the name of a header.")),
        values=fields.String(validate=[validate.Length(max=4000), _header_value, _unmasked]),
        load_default=dict,
        validate=validate.Length(max=MOST_HEADERS),
    )
    auth = fields.Nested(CredentialsSchema, allow_none=True, load_default=None)
    skip_tls_check = fields.Boolean(data_key="skipTlsCheck", load_default=False, truthy={True}, falsy={False})

    @validates_schema
    def check_headers(self, data: Mapping[str, object], **_: object) -> None:
        """Slack takes no headers; ours are ours."""
        headers = data.get("headers") or {}
        if isinstance(headers, Mapping):
            if headers and data.get("kind") == "slack":
                raise ValidationError("A Slack target has no headers.", "headers")
            reserved = sorted(name for name in headers if name.lower() in RESERVED_HEADERS)
            if reserved:
                raise ValidationError(f"Cannot be set: {', '.join(reserved)}.", "headers")
