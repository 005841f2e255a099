"""The body of a query request (spec 4.3, api.md section 5)."""

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from schemas.member_names import MemberNames

MOST_PARAMETERS: Final = 1000
ENGINES: Final = ("local", "spark")
SCALARS: Final = (str, int, float, bool, type(None))


class Instant(fields.Field[Any]):
    """One side of a time range: text, or a Unix time as a number. What it means is for `query.timerange`."""

    def _deserialize(self, value: object, attr: str | None, data: Any, **_: Any) -> str | int | float:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValidationError("Not a time: text or a Unix time.")
        return value


def _scalar(value: object) -> None:
    if not isinstance(value, SCALARS):
        raise ValidationError("Not a string, number, boolean or null.")


class QuerySchema(Schema):
    """Members by `known_members`, which tells of unknown ones. An explicit null is an absent member."""

    class Meta:
        unknown = EXCLUDE

    sql = fields.String(data_key="query", required=True)
    start = Instant(data_key="startTime", load_default=None, allow_none=True)
    end = Instant(data_key="endTime", load_default=None, allow_none=True)
    dataset = fields.String(data_key="streamName", load_default=None, allow_none=True)
    parameters = fields.List(
        fields.Raw(allow_none=True, validate=_scalar),
        load_default=(),
        validate=validate.Length(max=MOST_PARAMETERS),
    )
    time_zone = fields.String(data_key="timeZone", load_default=None, allow_none=True)
    engine = fields.String(load_default=None, allow_none=True, validate=validate.OneOf(ENGINES))
    fields_form = fields.Boolean(data_key="fields", load_default=False)
    send_null = fields.Boolean(data_key="sendNull", load_default=True)
    escape_formulas = fields.Boolean(data_key="escapeFormulas", load_default=False)


FLAGS: Final = ("fields", "sendNull", "escapeFormulas")
_NAMES: Final = MemberNames(QuerySchema())


def known_members(body: object, url: Mapping[str, str]) -> tuple[object, tuple[str, ...]]:
    """The body's members under the schema's names, with the flags of the URL added, and the names that mean nothing.

    The body wins over the URL.
    """
    if not isinstance(body, Mapping):
        return body, ()
    flags = {_NAMES.canonical(name): value for name, value in url.items() if _NAMES.canonical(name) in FLAGS}
    members, ignored = _NAMES.known(body)
    return flags | members, ignored


class RunningQuerySchema(Schema):
    """An entry of `GET /api/v1/queries`."""

    id = fields.String()
    identity = fields.String()
    sql = fields.String(data_key="query")
    started_at = fields.String(data_key="startedAt")


class SlowQuerySchema(RunningQuerySchema):
    """An entry of `GET /api/v1/queries/slow`."""

    ended_at = fields.String(data_key="endedAt")
    duration_ms = fields.Integer(data_key="durationMs")
    waited_ms = fields.Integer(data_key="waitedMs")
    datasets = fields.List(fields.String())
    rows = fields.Integer(allow_none=True)
    files = fields.Integer(data_key="filesScanned", allow_none=True)
    bytes = fields.Integer(data_key="bytesScanned", allow_none=True)
    status = fields.String()


class CountsSchema(Schema):
    """The body of a histogram request. Conditions cannot be told from ignored ones by their answer: refused."""

    class Meta:
        unknown = EXCLUDE

    dataset = fields.String(data_key="stream", required=True)
    start = Instant(data_key="startTime", required=True)
    end = Instant(data_key="endTime", required=True)
    bins = fields.Integer(
        data_key="numBins", strict=True, load_default=None, allow_none=True, validate=validate.Range(1, 10_000)
    )
    conditions = fields.Raw(
        load_default=None, allow_none=True, validate=validate.Equal(None, error="Not supported: send SQL to /query.")
    )
