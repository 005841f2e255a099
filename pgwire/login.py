"""How a session begins: TLS if it is asked for, who it is, and that it is nobody else (SCRAM-SHA-256, always)."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from auth.access import Access
from auth.names import TENANT
from auth.privileges import AUDIT_DATASET
from auth.scram import BOUND, PLAIN, ScramError, ScramExchange
from auth.scram_login import Login
from columns import Batch, one_row
from errors import TenantNotFound, TooManyAttempts, WeirError
from models import tenant as tenants
from models.tenant import DEFAULT
from pgwire import messages
from pgwire.connection import Connection, Tls
from pgwire.errors import LOGIN_REFUSED, Fatal
from pgwire.messages import CancelRequest, EncryptionRequest, Startup
from query.pg.catalogue_names import DATABASE
from storage.write.arrival import Arrival

logger = logging.getLogger(__name__)

Audit = Callable[[str, str, Batch, Arrival, str], None]
TELEMETRY_TYPE = "events"


@dataclass(frozen=True, slots=True)
class Door:
    """What a login needs. `tls_is_required`: of clients of other hosts, whose statements all on the way could read."""

    access: Access
    audit: Audit
    tls: Tls | None
    tls_is_required: bool


@dataclass(frozen=True, slots=True)
class Beginning:
    """A session that may begin: whose it is, the name of the database as it was asked for, and other parameters."""

    login: Login
    database: str
    parameters: Mapping[str, str]


def open_connection(connection: Connection, door: Door) -> Startup | CancelRequest:
    """The client's first message that is not about encryption. Raises Gone, ProtocolViolation."""
    for _ in range(3):
        first = connection.read_first()
        if not isinstance(first, EncryptionRequest):
            return first
        is_accepted = first.is_tls and door.tls is not None and not connection.is_tls
        connection.send(b"S" if is_accepted else b"N")
        connection.flush()
        if is_accepted and door.tls is not None:
            connection.start_tls(door.tls)
    raise messages.ProtocolViolation("expected a startup message")


def log_in(connection: Connection, startup: Startup, door: Door) -> Beginning:
    """Raises Fatal, Gone, ProtocolViolation."""
    if startup.minor > messages.NEWEST_MINOR or startup.unknown_options:
        connection.send(messages.negotiate(startup.unknown_options))
    parameters = dict(startup.parameters)
    user, database = parameters.pop("user", ""), parameters.pop("database", "")
    if parameters.pop("replication", "") not in ("", "false", "off", "no", "0"):
        raise Fatal("0A000", "replication is not supported")
    if not user:
        raise Fatal("28000", "no PostgreSQL user name specified in startup packet")
    if door.tls_is_required and not connection.is_tls:
        raise Fatal("28000", "this server takes encrypted connections only: connect with sslmode=require")
    tenant = _tenant(database or user, is_multiple=door.access.multi_tenant)
    login = _prove(connection, tenant, user, door)
    if not door.access.multi_tenant and database not in ("", DATABASE, user):
        raise Fatal("3D000", f'database "{database}" does not exist')
    return Beginning(login, database or (tenant if door.access.multi_tenant else DATABASE), parameters)


def _tenant(database: str, *, is_multiple: bool) -> str:
    """With several tenants the database is one; whether it exists only those learn who log in to it."""
    return database if is_multiple and TENANT.fullmatch(database) else DEFAULT if not is_multiple else "-"


def _prove(connection: Connection, tenant: str, user: str, door: Door) -> Login:
    certificate_hash = door.tls.certificate_hash if connection.is_tls and door.tls is not None else None
    connection.send(messages.sasl([PLAIN] if certificate_hash is None else [BOUND, PLAIN]))
    connection.flush()
    mechanism, first = messages.read_sasl_initial(connection.read_login())
    if mechanism not in ((PLAIN,) if certificate_hash is None else (BOUND, PLAIN)):
        raise messages.ProtocolViolation("client selected an invalid SASL authentication mechanism")
    login, exchange = door.access.scram.find(tenant, user), ScramExchange(mechanism, certificate_hash)
    try:
        connection.send(messages.sasl_continue(exchange.first(first, login.verifier)))
        connection.flush()
        final = connection.read_login()
        is_admitted = door.access.scram.is_admitted(login, connection.address, lambda: exchange.is_proof(final))
    except ScramError as error:
        raise messages.ProtocolViolation(str(error)) from error
    except TooManyAttempts as error:
        logger.info("a login over the PostgreSQL protocol is refused: %s", error)
        raise _refused() from error
    if not is_admitted:
        _record_refusal(door, tenant, login, connection.address)
        raise _refused()
    connection.send(messages.sasl_final(exchange.signature()))
    return login


def _refused() -> Fatal:
    """One and the same for a wrong password, an unknown name, a deleted and an expired key, and too many attempts."""
    return Fatal("28P01", LOGIN_REFUSED)


def _record_refusal(door: Door, tenant: str, login: Login, address: str) -> None:
    """As of a wrong password over HTTP: the name only if it is somebody's."""
    members: dict[str, str | int | None] = {
        "action": "password.refuse",
        "target": login.name if login.identity is not None else None,
        "status": 401,
        "method": "LOGIN",
        "path": "postgresql",
    }
    try:
        arrival = Arrival(datetime.now(UTC), address, "")
        door.audit(_existing(tenant), AUDIT_DATASET, one_row(members), arrival, TELEMETRY_TYPE)
    except WeirError as error:
        logger.error("audit: a refused login was not recorded: %s", error)


def _existing(tenant: str) -> str:
    """The tenant, or the one whose administrators look after all."""
    try:
        return tenants.get(tenant).id
    except TenantNotFound:
        return DEFAULT
