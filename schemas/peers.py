"""What a host tells a peer when it asks for its segments."""

from marshmallow import Schema, fields, validate


class KnownSchema(Schema):
    """`known`: by the name of a segment, how many of its first bytes the asking host has."""

    known = fields.Dict(keys=fields.String(), values=fields.Integer(validate=validate.Range(min=0)), required=True)
