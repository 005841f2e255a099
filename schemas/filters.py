"""The bodies of filter requests (api.md section 3)."""

from collections.abc import Mapping
from typing import Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate, validates_schema

from schemas.authored import LONGEST_SQL, shallow, sql_text, tags, title

KINDS: Final = ("filter", "sql", "search")


class FilterQuerySchema(Schema):
    """`sql` needs `filter_query`; `filter` is what a builder made and the text that came of it; `search` is words."""

    class Meta:
        unknown = EXCLUDE

    filter_type = fields.String(required=True, validate=validate.OneOf(KINDS))
    filter_query = fields.String(allow_none=True, validate=[validate.Length(max=LONGEST_SQL), sql_text])
    filter_builder = fields.Dict(keys=fields.String(), allow_none=True, validate=shallow)

    @validates_schema
    def check_has_text(self, data: Mapping[str, object], **_: object) -> None:
        if data.get("filter_type") == "sql" and not data.get("filter_query"):
            raise ValidationError("Missing data for required field.", "filter_query")


class TimeFilterSchema(Schema):
    """A time range as the query endpoint takes it."""

    class Meta:
        unknown = EXCLUDE

    start = fields.String(data_key="from", required=True, validate=validate.Length(1, 100))
    end = fields.String(data_key="to", required=True, validate=validate.Length(1, 100))


class FilterSchema(Schema):
    class Meta:
        unknown = EXCLUDE

    dataset = fields.String(data_key="stream_name", required=True, validate=validate.Length(1, 100))
    name = title(data_key="filter_name", required=True)
    query = fields.Nested(FilterQuerySchema, required=True)
    time_filter = fields.Nested(TimeFilterSchema, allow_none=True, load_default=None)
    tags = tags()
