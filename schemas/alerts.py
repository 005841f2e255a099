"""The bodies of alert requests (api.md section 3)."""

import math
from collections.abc import Mapping
from typing import Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate, validates_schema

from schemas.authored import LONGEST_SQL, extra, shallow, sql_text, tags, title

OPERATORS: Final = (">", "<", "=", "!=", ">=", "<=")
SEVERITIES: Final = ("critical", "high", "medium", "low")
# SQL that was written or put together, or a PromQL expression.
PROMQL: Final = "promql"
QUERY_TYPES: Final = ("code", "builder", PROMQL)
MINUTES_PER_DAY: Final = 1440
MOST_TARGETS: Final = 20
MOST_EXTRA: Final = 10
# Set by the service, or of kinds of alerts that we do not have; clients send them all the same.
SERVICE_OWNED: Final = frozenset(
    "version id author state notificationState disabledReason mutedUntil created modified datasets lastTriggeredAt"
    " lastEvaluatedAt lastNotifiedAt lastValue lastError nextRunAt tenantId anomalyConfig forecastConfig".split()
)


def _finite(value: float) -> None:
    if not math.isfinite(value):
        raise ValidationError("Must be a finite number.")


class ThresholdSchema(Schema):
    class Meta:
        unknown = EXCLUDE

    operator = fields.String(required=True, validate=validate.OneOf(OPERATORS))
    value = fields.Float(required=True, validate=_finite)


class RollingWindowSchema(Schema):
    """`evalStart` is how far back an evaluation looks; `evalFrequency` the minutes between two."""

    class Meta:
        unknown = EXCLUDE

    start = fields.String(data_key="evalStart", required=True, validate=validate.Length(1, 100))
    end = fields.String(data_key="evalEnd", load_default="now", validate=validate.Equal("now"))
    frequency = fields.Integer(
        data_key="evalFrequency", required=True, strict=True, validate=validate.Range(1, MINUTES_PER_DAY)
    )


class EvaluationSchema(Schema):
    class Meta:
        unknown = EXCLUDE

    window = fields.Nested(RollingWindowSchema, data_key="rollingWindow", required=True)


class NotificationSchema(Schema):
    """`interval`: minutes between two notices while an alert stays triggered."""

    class Meta:
        unknown = EXCLUDE

    interval = fields.Integer(load_default=60, strict=True, validate=validate.Range(1, 7 * MINUTES_PER_DAY))


class AlertSchema(Schema):
    """Loads into the members below and `extra`."""

    class Meta:
        unknown = EXCLUDE

    title = title(required=True)
    query = fields.String(required=True, validate=[validate.Length(1, LONGEST_SQL), sql_text])
    query_type = fields.String(data_key="queryType", load_default="code", validate=validate.OneOf(QUERY_TYPES))
    # Only PromQL needs it: SQL names its dataset itself.
    datasets = fields.List(fields.String(validate=validate.Length(1, 100)), load_default=list)
    kind = fields.String(data_key="alertType", load_default="threshold", validate=validate.Equal("threshold"))
    threshold = fields.Nested(ThresholdSchema, data_key="thresholdConfig", required=True)
    evaluation = fields.Nested(EvaluationSchema, data_key="evalConfig", required=True)
    notification = fields.Nested(
        NotificationSchema, data_key="notificationConfig", load_default=lambda: NotificationSchema().load({})
    )
    targets = fields.List(
        fields.String(validate=validate.Length(1, 100)), load_default=list, validate=validate.Length(max=MOST_TARGETS)
    )
    severity = fields.String(load_default="medium", validate=validate.OneOf(SEVERITIES))
    tags = tags()

    @validates_schema(pass_original=True)
    def check_extra(self, _: object, body: Mapping[str, object], **__: object) -> None:
        others = extra(self, body, SERVICE_OWNED)
        if len(others) > MOST_EXTRA:
            raise ValidationError(f"At most {MOST_EXTRA} members of your own.", max(others))
        shallow(others)

    @post_load(pass_original=True)
    def gather_extra(self, data: Mapping[str, object], body: Mapping[str, object], **_: object) -> dict[str, object]:
        return {**data, "extra": extra(self, body, SERVICE_OWNED)}


class MutingSchema(Schema):
    """`notify`, `indefinite`, or until when: RFC 3339, or a duration from now."""

    class Meta:
        unknown = EXCLUDE

    state = fields.String(required=True, validate=validate.Length(1, 100))


class AlertListSchema(Schema):
    """The query string of the list; `tags` are separated by commas, any of them matches."""

    class Meta:
        unknown = EXCLUDE

    tags = fields.String(load_default="", validate=validate.Length(max=2000))
    offset = fields.Integer(load_default=0, validate=validate.Range(0, 1_000_000))
    limit = fields.Integer(load_default=100, validate=validate.Range(1, 1000))


class LogSchema(Schema):
    """The query string of the history and of the delivery log."""

    class Meta:
        unknown = EXCLUDE

    limit = fields.Integer(load_default=100, validate=validate.Range(1, 1000))
