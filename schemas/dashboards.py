"""The bodies of dashboard requests (api.md section 3)."""

from collections.abc import Mapping
from typing import Final, cast

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, pre_load, validate, validates_schema

from schemas.authored import LONGEST_SQL, LONGEST_TITLE, extra, printable, shallow, sql_text, tags, title

KINDS: Final = ("Dashboard", "Report")
CHARTS: Final = ("table", "number", "gauge", "line", "area", "bar", "stacked-bar", "pie", "scatter", "heatmap", "logs")
MOST_TILES: Final = 100
ULID: Final = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}\Z"
# Set by the service. Clients send them back in a PUT; what they say is then ignored.
SERVICE_OWNED: Final = frozenset("version author dashboardId created modified tenantId".split())


class TileSchema(Schema):
    """SQL and the kind of chart that shows it. Other members are the client's own and given back."""

    class Meta:
        unknown = EXCLUDE

    tile_id = fields.String(validate=validate.Regexp(ULID, error="Must be a ULID."))
    title = fields.String(validate=[validate.Length(max=LONGEST_TITLE)])
    query = fields.String(required=True, validate=[validate.Length(1, LONGEST_SQL), sql_text])
    chart = fields.String(required=True, validate=validate.OneOf(CHARTS))

    @post_load(pass_original=True)
    def keep_others(self, data: Mapping[str, object], body: Mapping[str, object], **_: object) -> dict[str, object]:
        return {**body, **data}


class DashboardSchema(Schema):
    """A whole dashboard. Loads into the members below and `extra`."""

    class Meta:
        unknown = EXCLUDE

    title = title(required=True)
    kind = fields.String(data_key="dashboardType", load_default="Dashboard", validate=validate.OneOf(KINDS))
    is_favorite = fields.Boolean(data_key="isFavorite", load_default=False, truthy={True}, falsy={False})
    tags = tags()
    tiles = fields.List(fields.Nested(TileSchema), load_default=list, validate=validate.Length(max=MOST_TILES))

    @pre_load
    def check_depth(self, body: Mapping[str, object], **_: object) -> Mapping[str, object]:
        shallow(body)
        return body

    @validates_schema
    def check_tile_ids(self, data: Mapping[str, object], **_: object) -> None:
        tiles = cast(list[Mapping[str, object]], data.get("tiles") or [])
        ids = [tile["tile_id"] for tile in tiles if "tile_id" in tile]
        if len(set(ids)) < len(ids):
            raise ValidationError("Two tiles have the same tile_id.", "tiles")

    @post_load(pass_original=True)
    def gather_extra(self, data: Mapping[str, object], body: Mapping[str, object], **_: object) -> dict[str, object]:
        return {**data, "extra": extra(self, body, SERVICE_OWNED)}


class DashboardChangeSchema(Schema):
    """The quick changes that a PUT makes by its query string."""

    class Meta:
        unknown = EXCLUDE

    is_favorite = fields.Boolean(data_key="isFavorite", truthy={"true"}, falsy={"false"})
    tags = fields.String(validate=validate.Length(max=2000))
    title = fields.String(data_key="renameTo", validate=[validate.Length(1, LONGEST_TITLE), printable])


class DashboardListSchema(Schema):
    """The query string of the list."""

    class Meta:
        unknown = EXCLUDE

    tags = fields.String(load_default="", validate=validate.Length(max=2000))
    limit = fields.Integer(load_default=1000, validate=validate.Range(1, 1000))


class DashboardDataSchema(Schema):
    """The query string of a dashboard's data: a time range as the query endpoint takes it."""

    class Meta:
        unknown = EXCLUDE

    start = fields.String(data_key="startTime", load_default=None)
    end = fields.String(data_key="endTime", load_default=None)
