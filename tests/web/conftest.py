"""The application of the identity routes, which the tests of endpoint groups use too."""

from tests.blueprints.conftest import (  # noqa: F401
    access,
    admin_hash,
    call,
    call_tenants,
    passwords,
)
