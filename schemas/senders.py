"""The question how much the senders of a dataset stored, and its answer."""

from typing import Final

from marshmallow import Schema, fields, validate

MOST_HOURS: Final = 24


class SendersSchema(Schema):
    """`?hours=1`: how far back."""

    hours = fields.Integer(load_default=1, validate=validate.Range(1, MOST_HOURS))
