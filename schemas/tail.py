"""What a request for a live tail asks (api.md section 8)."""

from collections.abc import Mapping
from typing import Final

from marshmallow import EXCLUDE, Schema, fields, validate

from schemas.member_names import MemberNames

MOST_ROWS_PER_SECOND: Final = 100_000


class TailSchema(Schema):
    """Members by `known_tail_members`. An explicit null is an absent member."""

    class Meta:
        unknown = EXCLUDE

    sql = fields.String(data_key="query", required=True)
    begin = fields.String(data_key="from", load_default=None, allow_none=True)
    send_null = fields.Boolean(data_key="sendNull", load_default=True)
    rows_per_second = fields.Integer(
        data_key="rowsPerSecond",
        load_default=None,
        allow_none=True,
        validate=validate.Range(1, MOST_ROWS_PER_SECOND),
    )


_NAMES: Final = MemberNames(TailSchema())


def known_tail_members(body: object) -> tuple[object, tuple[str, ...]]:
    """The members of a body, or of a URL, under the schema's names, and the names that mean nothing."""
    return _NAMES.known(body) if isinstance(body, Mapping) else (body, ())
