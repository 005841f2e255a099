"""What a host tells a peer when it asks for its segments."""

from marshmallow import Schema, fields, validate


class KnownSchema(Schema):
    """`known`: by the name of a segment, how many of its first bytes the asking host has.

    `after`: a live tail asks, which also wants what has been converted, of segments that are newer than this one or
    of which it has a part.
    """

    known = fields.Dict(keys=fields.String(), values=fields.Integer(validate=validate.Range(min=0)), required=True)
    after = fields.String(load_default=None, allow_none=True)
