"""The tenant that a request names in X-P-Tenant, where a server has several. Knows no HTTP library."""

from collections.abc import Mapping
from typing import Any, Final

from auth.names import TENANT
from errors import InvalidHeader, MissingHeader
from models.tenant import DEFAULT

TENANT_HEADER: Final = "X-P-Tenant"
# As WSGI names it.
TENANT_VARIABLE: Final = "HTTP_X_P_TENANT"


def tenant_of(environ: Mapping[str, Any], multi_tenant: bool) -> str:
    """The tenant whose credentials count (spec 5.6). Raises MissingHeader, InvalidHeader."""
    if not multi_tenant:
        return DEFAULT
    tenant: str | None = environ.get(TENANT_VARIABLE)
    if tenant is None:
        raise MissingHeader(f"this server has several tenants: name yours in the header {TENANT_HEADER}")
    if not TENANT.fullmatch(tenant):
        raise InvalidHeader(f"{TENANT_HEADER} is not a tenant's name", field=TENANT_HEADER)
    return tenant


def refuse_needless_tenant(environ: Mapping[str, Any], multi_tenant: bool) -> None:
    """After the credential, so that strangers learn nothing of the server's mode. Raises InvalidHeader."""
    if not multi_tenant and TENANT_VARIABLE in environ:
        raise InvalidHeader(f"this server has one tenant: leave out {TENANT_HEADER}", field=TENANT_HEADER)
