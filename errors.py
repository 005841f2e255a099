"""The domain's exceptions: what went wrong, in the client's words. Knows no HTTP.

WeirError
├── InvalidRequest            malformed or missing input
├── Unauthenticated           no, wrong or revoked credential
├── Forbidden                 a valid identity lacks a privilege
├── NotFound                  the named thing does not exist
├── Conflict                  the named thing exists already or is in use
├── PreconditionFailed        it is no longer what the client read
├── TooLarge                  a body over a limit
├── UnsupportedMedia          media type or content coding
├── Unprocessable             understood, but cannot be carried out
├── Overloaded                try again later
├── TimedOut                  a query ran out of time
└── InternalError             a fault of ours

A leaf sets `code`, which clients may rely on (docs/errors.md lists them all). `web/errors.py` maps the
families to statuses, so a new leaf needs no change there.
"""

from typing import ClassVar


class WeirError(Exception):
    """Base of all. `message` is shown to the client; `details` become further members of the error body."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, **details: str | int | None) -> None:
        super().__init__(message)
        self.message = message
        self.details = {name: value for name, value in details.items() if value is not None}


class InvalidRequest(WeirError):
    """Malformed or missing input that no other code says better; `field` names it."""

    code = "invalid_request"


class InvalidJSON(InvalidRequest):
    """The body is not JSON; `position` is the offset of the first bad byte, when known."""

    code = "invalid_json"


class InvalidEvent(InvalidRequest):
    """One event of a batch is unusable; `index` tells which, counted from 0. Nothing of the batch is stored."""

    code = "invalid_event"


class InvalidPosition(InvalidRequest):
    """`Last-Event-ID` is no position that a live tail of this service gave."""

    code = "invalid_position"


class InvalidBody(InvalidRequest):
    """The body is not what its headers say: broken compression, wrong framing, undecodable protobuf."""

    code = "invalid_body"


class ClientGone(InvalidRequest):
    """The client closed its connection before its body was decoded; nothing was stored. Nobody reads this."""

    code = "client_gone"


class MissingHeader(InvalidRequest):
    """A required header is absent; `field` names it."""

    code = "missing_header"


class InvalidHeader(InvalidRequest):
    """A header has a value that cannot be used; `field` names it."""

    code = "invalid_header"


class InvalidName(InvalidRequest):
    """A dataset, user, role or key cannot be called so."""

    code = "invalid_name"


class InvalidTimeRange(InvalidRequest):
    """`startTime` or `endTime` is in no known form, missing where required, or start is after end."""

    code = "invalid_time_range"


class InvalidSQL(InvalidRequest):
    """The statement is not a query PostgreSQL would run: syntax, unknown column, type mismatch, division by zero."""

    code = "invalid_sql"


class UnsupportedSQL(InvalidRequest):
    """PostgreSQL would run it and we cannot; the message names the construct and, if possible, what to write."""

    code = "unsupported_sql"


class UnsupportedOnCluster(UnsupportedSQL):
    """The statement has to run on the cluster, which cannot do so exactly as PostgreSQL would; `engine` chooses."""

    code = "unsupported_on_cluster"


class InvalidPromQL(InvalidRequest):
    """The expression is not PromQL: syntax, unknown function, wrong types. The text says where."""

    code = "invalid_promql"


class UnknownRole(InvalidRequest):
    """A key or user was to get a role that does not exist."""

    code = "unknown_role"


class InvalidRole(InvalidRequest):
    """A role body holds an unknown privilege or member."""

    code = "invalid_role"


class ConflictingCredentials(InvalidRequest):
    """Both `X-API-Key` and `Authorization` were sent."""

    code = "conflicting_credentials"


class TooManyColumns(InvalidRequest):
    """The events would give the dataset more columns than it may have; nothing was stored."""

    code = "too_many_columns"


class SchemaMismatch(InvalidRequest):
    """The events do not fit the dataset's static schema."""

    code = "schema_mismatch"


class Unauthenticated(WeirError):
    """No credential, a wrong one, or one that was deleted. The text is the same for all three."""

    code = "unauthenticated"


class LoginFailed(Unauthenticated):
    """A login at the identity provider, or a token of it, was refused; the message says why."""

    code = "login_failed"


class Forbidden(WeirError):
    """The identity is valid and lacks a privilege; the message names privilege and dataset."""

    code = "forbidden"


class NotFound(WeirError):
    """What the path names does not exist."""

    code = "not_found"


class DatasetNotFound(NotFound):
    """The dataset does not exist, and the caller could have read it."""

    code = "dataset_not_found"


class NamespaceNotFound(NotFound):
    """The Iceberg catalog has no namespace of that name for the caller."""

    code = "namespace_not_found"


class ColumnNotFound(NotFound):
    """The dataset has no column with this id."""

    code = "column_not_found"


class KeyNotFound(NotFound):
    """No API key has this id."""

    code = "key_not_found"


class RoleNotFound(NotFound):
    """No role has this name."""

    code = "role_not_found"


class UserNotFound(NotFound):
    """No user has this name."""

    code = "user_not_found"


class TenantNotFound(NotFound):
    """There is no tenant of that name."""

    code = "tenant_not_found"


class QueryNotFound(NotFound):
    """No running query of yours has this id."""

    code = "query_not_found"


class OidcNotConfigured(NotFound):
    """The server has no OIDC provider: `WEIR_OIDC_ISSUER` is unset."""

    code = "oidc_not_configured"


class DashboardNotFound(NotFound):
    """No dashboard that the caller may read has this id."""

    code = "dashboard_not_found"


class FilterNotFound(NotFound):
    """No filter that the caller may read has this id."""

    code = "filter_not_found"


class SavedQueryNotFound(NotFound):
    """No saved query of the caller's has this id."""

    code = "saved_query_not_found"


class AlertNotFound(NotFound):
    """No alert that the caller may read has this id."""

    code = "alert_not_found"


class TargetNotFound(NotFound):
    """No target has this id."""

    code = "target_not_found"


class HostNotFound(NotFound):
    """No host of this name was ever part of the deployment."""

    code = "host_not_found"


class Conflict(WeirError):
    """The request contradicts what is there."""

    code = "conflict"


class KeyNameTaken(Conflict):
    """Another API key of the tenant has this name."""

    code = "key_name_taken"


class DatasetExists(Conflict):
    """A dataset of this name exists."""

    code = "dataset_exists"


class UserExists(Conflict):
    """A user of this name exists."""

    code = "user_exists"


class TenantExists(Conflict):
    """A tenant of that name exists already."""

    code = "tenant_exists"


class TenantNotEmpty(Conflict):
    """A tenant that still holds datasets is only deleted with `?purge=true`."""

    code = "tenant_not_empty"


class RoleInUse(Conflict):
    """The role belongs to a user or key and cannot be deleted."""

    code = "role_in_use"


class LastAdministrator(Conflict):
    """Nobody could administer the tenant any more."""

    code = "last_administrator"


class TitleTaken(Conflict):
    """Another dashboard, filter, alert or target has this title or name."""

    code = "title_taken"


class TargetInUse(Conflict):
    """An alert is delivered to the target, which therefore cannot be deleted."""

    code = "target_in_use"


class HostLives(Conflict):
    """A host that is alive is not given up."""

    code = "host_lives"


class PreconditionFailed(WeirError):
    """What the client read before is no longer so."""

    code = "precondition_failed"


class ChangedMeanwhile(PreconditionFailed):
    """Somebody else has changed the object since the revision that `If-Match` names, or since it was read."""

    code = "changed_meanwhile"


class TooLarge(WeirError):
    """The body is over a limit, as sent or after decompression; `limit` is the number of bytes. Nothing was stored."""

    code = "body_too_large"


class UnsupportedMedia(WeirError):
    """The content type or content coding is none that this route takes."""

    code = "unsupported_media_type"


class Unprocessable(WeirError):
    """Understood, but it cannot be carried out."""

    code = "unprocessable"


class TooManySavedQueries(Unprocessable):
    """One more query cannot be kept under a name: the limit is reached."""

    code = "too_many_saved_queries"


class QueryTooLarge(Unprocessable):
    """A query ran out of its memory, or its result is over a limit."""

    code = "query_too_large"


class PromQLFailed(Unprocessable):
    """An expression that cannot be evaluated over the series that there are, such as many-to-many matching."""

    code = "promql_failed"


class QueryCancelled(Unprocessable):
    """A query was ended by its owner or by an administrator."""

    code = "query_cancelled"


class IdempotencyKeyReused(Unprocessable):
    """The `Idempotency-Key` was used before with another body."""

    code = "idempotency_key_reused"


class TimedOut(WeirError):
    """A query ran longer than it may."""

    code = "query_timeout"


class Overloaded(WeirError):
    """Too much at once. Try again after the seconds of `Retry-After`; nothing was done."""

    code = "overloaded"

    def __init__(self, message: str, retry_after_seconds: int = 1, **details: str | int | None) -> None:
        super().__init__(message, **details)
        self.retry_after_seconds = retry_after_seconds


class BodyTimedOut(Overloaded):
    """The sender stopped in the middle of its body. Not the client's data is at fault, so it may send it again."""

    code = "body_timeout"


class TableNotPublished(Overloaded):
    """The dataset's Iceberg table will be there in a few seconds, or once maintenance has rewritten its files."""

    code = "table_not_published"


class DiskFull(Overloaded):
    """The disk is above its high-water mark; ingestion resumes by itself."""

    code = "disk_full"


class ShuttingDown(Overloaded):
    """This worker is about to stop; another one answers."""

    code = "shutting_down"


class ProviderUnavailable(Overloaded):
    """The OIDC provider cannot be reached, or does not answer as one."""

    code = "provider_unavailable"


class TooManyAttempts(Overloaded):
    """Too many wrong passwords from one address; answered before the password is looked at."""

    code = "too_many_attempts"


class TooManyTails(Overloaded):
    """This worker follows as many live tails as it can; another worker may have room."""

    code = "too_many_tails"


class StorageUnavailable(Overloaded):
    """A write or sync failed, or the database is away: nothing of the request was stored."""

    code = "storage_unavailable"


class ClusterUnavailable(Overloaded):
    """The cluster that the statement has to run on is not there, or cannot take it now."""

    code = "cluster_unavailable"


class HostMissing(Overloaded):
    """`host` holds events that are nowhere else yet and cannot be asked; so nothing is answered without them, unless
    the operator wants it and the answer says so."""

    code = "host_missing"


class ClusterFailed(WeirError):
    """The cluster gave up on a statement for a reason of its own, which its log tells."""

    code = "cluster_failed"


class InternalError(WeirError):
    """A fault of ours. The request id finds it in the log."""

    code = "internal_error"
