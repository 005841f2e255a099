"""What the routes answer, as Marshmallow schemas. Only described here: handlers write their answers themselves."""

from marshmallow import INCLUDE, Schema, fields, validate


class Answer(Schema):
    """Answers may grow: whoever reads them ignores members that are not described."""

    class Meta:
        unknown = INCLUDE


class Error(Answer):
    """The one error shape outside OTLP and remote write; further members stand beside these where they help."""

    code = fields.String(required=True)
    message = fields.String(required=True)
    requestId = fields.String(required=True)  # noqa: N815  # the contract's name


class PrometheusError(Answer):
    """What the routes below `/prometheus` answer instead, as Prometheus does."""

    status = fields.String(required=True)
    errorType = fields.String(required=True)  # noqa: N815  # Prometheus' name
    error = fields.String(required=True)


class RpcStatus(Answer):
    """What OTLP answers instead (google.rpc.Status), in JSON or protobuf as it was sent."""

    code = fields.Integer(required=True)
    message = fields.String(required=True)


class Ingested(Answer):
    """`duplicate` is there, and true, when an Idempotency-Key repeats a request."""

    dataset = fields.String(required=True)
    events = fields.Integer(required=True)
    duplicate = fields.Boolean()


class ApiKey(Answer):
    """`apiKey` is the whole secret on creation and for one key, `****` and four characters in lists."""

    keyId = fields.String(required=True)  # noqa: N815
    keyName = fields.String(required=True)  # noqa: N815
    apiKey = fields.String(required=True)  # noqa: N815
    roles = fields.List(fields.String(), required=True)
    createdBy = fields.String(required=True)  # noqa: N815
    createdAt = fields.String(required=True)  # noqa: N815
    modifiedAt = fields.String(required=True)  # noqa: N815
    expiresAt = fields.String(allow_none=True)  # noqa: N815
    lastUsedAt = fields.String(allow_none=True)  # noqa: N815


class DatasetName(Answer):
    name = fields.String(required=True)


class Column(Answer):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    type = fields.String(required=True)
    addedBy = fields.String(allow_none=True)  # noqa: N815


class SenderBucket(Answer):
    begins = fields.AwareDateTime(required=True)
    events = fields.Integer(required=True)
    bytes = fields.Integer(required=True)


class Sender(Answer):
    """What one key or user stored. Rates are over the last five to ten minutes."""

    kind = fields.String(required=True, validate=validate.OneOf(["native", "oauth", "api_key"]))
    id = fields.String(required=True)
    name = fields.String(required=True, allow_none=True, metadata={"description": "null: of a key that is deleted"})
    events = fields.Integer(required=True)
    bytes = fields.Integer(required=True)
    requests = fields.Integer(required=True)
    latestAt = fields.AwareDateTime(required=True)  # noqa: N815
    eventsPerSecond = fields.Float(required=True)  # noqa: N815
    bytesPerSecond = fields.Float(required=True)  # noqa: N815
    buckets = fields.List(fields.Nested(SenderBucket), required=True)


class Senders(Answer):
    """By key and user, who stored most bytes first."""

    dataset = fields.String(required=True)
    from_ = fields.AwareDateTime(required=True, data_key="from")
    to = fields.AwareDateTime(required=True)
    bucketSeconds = fields.Integer(required=True)  # noqa: N815
    senders = fields.List(fields.Nested(Sender), required=True)


class Resource(Answer):
    """Restricts an entry to one dataset, and a reader's also to the rows where a field has a value."""

    dataset = fields.String()
    tag = fields.String(metadata={"description": "`field=value`", "example": "env=prod"})


class Entry(Answer):
    """One privilege of a role."""

    privilege = fields.String(required=True, metadata={"enum": ["ingestor", "reader", "writer", "admin"]})
    resource = fields.Nested(Resource)


class Role(Answer):
    actions = fields.List(fields.Dict(), required=True)
    roleType = fields.String(required=True)  # noqa: N815


class Status(Answer):
    status = fields.String(required=True)


class Message(Answer):
    message = fields.String(required=True)


class SavedQuery(Answer):
    id = fields.String(required=True)
    name = fields.String(required=True, allow_none=True)
    query = fields.String(required=True)
    askedAt = fields.String(required=True)  # noqa: N815


class Tenant(Answer):
    tenantId = fields.String(required=True)  # noqa: N815
    createdAt = fields.String(required=True)  # noqa: N815
