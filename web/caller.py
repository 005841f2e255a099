"""Who makes the current request, once it is known."""

from auth.identity import Identity
from errors import Unauthenticated
from serving.flask_app.current import this_request
from web.credentials import REFUSAL


def caller() -> Identity:
    """Who makes the current request, of a protected blueprint."""
    identity = this_request().identity
    if identity is None:
        raise Unauthenticated(REFUSAL)
    return identity
