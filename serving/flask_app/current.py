"""The request that is being served, and what the service has found out about it."""

from typing import cast

import flask

from auth.identity import Identity


class Request(flask.Request):
    """Flask's request, with its id, when it began (monotonic seconds), and what has become of it so far."""

    id: str = ""
    started: float = 0.0
    identity: Identity | None = None
    error_code: str | None = None
    audit_target: str | None = None


def this_request() -> Request:
    """The request itself. Flask's proxy for it looks it up again for each attribute, a tenth of a small request."""
    return cast(Request, flask.request._get_current_object())  # type: ignore[attr-defined]  # declared as the request
