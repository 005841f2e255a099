"""What the bodies of target requests have in common (api.md section 3); each kind of target has a schema of its own."""

from collections.abc import Mapping
from typing import Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from schemas.authored import title

MASK: Final = "********"
LONGEST_URL: Final = 2000
MOST_HEADERS: Final = 20
# RFC 9110 section 5.6.2.
HEADER_NAME: Final = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z"
# The framing of a request is ours; another Host would send it past the check of the address.
RESERVED_HEADERS: Final = frozenset(
    "host content-length content-type transfer-encoding connection upgrade te trailer expect keep-alive".split()
)


def unmasked(value: str) -> None:
    """What was shown masked cannot be sent back: it would become the secret."""
    if MASK in value:
        raise ValidationError("This is the masked form. Send the value itself.")


def kind_name(name: str) -> fields.String:
    """The `type` of a kind of target."""
    return fields.String(data_key="type", required=True, validate=validate.OneOf([name]))


def endpoint(**options: object) -> fields.String:
    """A URL; whether notices may go there is judged apart."""
    return fields.String(validate=[validate.Length(1, LONGEST_URL), unmasked], **options)  # type: ignore[arg-type]


def _header_value(value: str) -> None:
    if not value.isascii() or not value.isprintable():
        raise ValidationError("Must be printable ASCII.")


def _ours(headers: Mapping[str, str]) -> None:
    reserved = sorted(name for name in headers if name.lower() in RESERVED_HEADERS)
    if reserved:
        raise ValidationError(f"Cannot be set: {', '.join(reserved)}.")


class CredentialsSchema(Schema):
    """A user name and password; a colon would end the user name of Basic authentication (RFC 7617)."""

    class Meta:
        unknown = EXCLUDE

    username = fields.String(required=True, validate=[validate.Length(1, 200), validate.ContainsNoneOf(":"), unmasked])
    password = fields.String(required=True, validate=[validate.Length(1, 1000), unmasked])


class TargetSchema(Schema):
    """The members of every kind; a kind adds `type` and its own."""

    class Meta:
        unknown = EXCLUDE

    name = title(required=True)
    skip_tls_check = fields.Boolean(data_key="skipTlsCheck", load_default=False, truthy={True}, falsy={False})


class HttpTargetSchema(TargetSchema):
    """A target that is told by HTTP POST, where the URL is the receiver's own."""

    endpoint = endpoint(required=True)
    headers = fields.Dict(
        keys=fields.String(validate=validate.Regexp(HEADER_NAME, error="Must be the name of a header.")),
        values=fields.String(validate=[validate.Length(max=4000), _header_value, unmasked]),
        load_default=dict,
        validate=[validate.Length(max=MOST_HEADERS), _ours],
    )
    auth = fields.Nested(CredentialsSchema, allow_none=True, load_default=None)
