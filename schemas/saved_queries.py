"""The body of a request that notes or keeps a query."""

from marshmallow import EXCLUDE, Schema, fields, validate

from schemas.authored import LONGEST_SQL, LONGEST_TITLE, printable, sql_text


class SavedQuerySchema(Schema):
    """Without a `name` the query goes to the history."""

    class Meta:
        unknown = EXCLUDE

    query = fields.String(required=True, validate=[validate.Length(1, LONGEST_SQL), sql_text])
    name = fields.String(load_default=None, allow_none=True, validate=[validate.Length(1, LONGEST_TITLE), printable])
