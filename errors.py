"""The domain's exceptions: what went wrong, in the client's words. Knows no HTTP.

WeirError
├── InvalidRequest            malformed or missing input
├── Unauthenticated           no, wrong or revoked credential
├── Forbidden                 a valid identity lacks a privilege
├── NotFound                  the named thing does not exist
├── Conflict                  the named thing exists already or is in use
├── TooLarge                  a body over a limit
├── UnsupportedMedia          media type or content coding
├── Unprocessable             understood, but cannot be carried out
├── Overloaded                try again later
├── TimedOut                  a query ran out of time
└── InternalError             a fault of ours

A leaf sets `code`, which clients may rely on (docs/errors.md lists them all). `blueprints/errors.py` maps the
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
    code = "invalid_request"


class InvalidJSON(InvalidRequest):
    code = "invalid_json"


class InvalidEvent(InvalidRequest):
    """One event of a batch is unusable; `index` tells which, counted from 0. Nothing of the batch is stored."""

    code = "invalid_event"


class InvalidBody(InvalidRequest):
    """The body is not what its headers say: broken compression, wrong framing, undecodable protobuf."""

    code = "invalid_body"


class MissingHeader(InvalidRequest):
    code = "missing_header"


class InvalidHeader(InvalidRequest):
    code = "invalid_header"


class InvalidName(InvalidRequest):
    code = "invalid_name"


class InvalidTimeRange(InvalidRequest):
    code = "invalid_time_range"


class InvalidSQL(InvalidRequest):
    """The statement is not a query PostgreSQL would run: syntax, unknown column, type mismatch, division by zero."""

    code = "invalid_sql"


class UnsupportedSQL(InvalidRequest):
    """PostgreSQL would run it and we cannot; the message names the construct and, if possible, what to write."""

    code = "unsupported_sql"


class UnknownRole(InvalidRequest):
    code = "unknown_role"


class InvalidRole(InvalidRequest):
    code = "invalid_role"


class ConflictingCredentials(InvalidRequest):
    code = "conflicting_credentials"


class TooManyColumns(InvalidRequest):
    code = "too_many_columns"


class Unauthenticated(WeirError):
    code = "unauthenticated"


class Forbidden(WeirError):
    code = "forbidden"


class NotFound(WeirError):
    code = "not_found"


class DatasetNotFound(NotFound):
    code = "dataset_not_found"


class KeyNotFound(NotFound):
    code = "key_not_found"


class RoleNotFound(NotFound):
    code = "role_not_found"


class UserNotFound(NotFound):
    code = "user_not_found"


class Conflict(WeirError):
    code = "conflict"


class KeyNameTaken(Conflict):
    code = "key_name_taken"


class DatasetExists(Conflict):
    code = "dataset_exists"


class UserExists(Conflict):
    code = "user_exists"


class RoleInUse(Conflict):
    code = "role_in_use"


class LastAdministrator(Conflict):
    code = "last_administrator"


class TooLarge(WeirError):
    code = "body_too_large"


class UnsupportedMedia(WeirError):
    code = "unsupported_media_type"


class Unprocessable(WeirError):
    code = "unprocessable"


class QueryTooLarge(Unprocessable):
    code = "query_too_large"


class IdempotencyKeyReused(Unprocessable):
    code = "idempotency_key_reused"


class TimedOut(WeirError):
    code = "query_timeout"


class Overloaded(WeirError):
    """Try again in `retry_after_seconds`; nothing was done."""

    code = "overloaded"

    def __init__(self, message: str, retry_after_seconds: int = 1, **details: str | int | None) -> None:
        super().__init__(message, **details)
        self.retry_after_seconds = retry_after_seconds


class DiskFull(Overloaded):
    code = "disk_full"


class ShuttingDown(Overloaded):
    code = "shutting_down"


class StorageUnavailable(Overloaded):
    """A write or sync failed, or the database is away: nothing of the request was stored."""

    code = "storage_unavailable"


class InternalError(WeirError):
    code = "internal_error"
