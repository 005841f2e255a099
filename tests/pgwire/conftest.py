"""A service that clients of PostgreSQL reach, with TLS for those who ask for it, and a dataset in it."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.conftest import NewDatabase, service_environment
from tests.running import ADMIN, Service, free_port

EVENTS = [
    {"level": "error" if number % 2 else "info", "message": f"it's {number}", "took": number / 4, "ok": number % 3 == 0}
    | {"status": 200 + number % 5, "tags": ["a", "b,c"], "at": f"2026-11-20T01:{number % 60:02d}:00Z"}
    for number in range(1000)
]


@dataclass(frozen=True)
class Door:
    """The service, and where clients of PostgreSQL connect to it."""

    service: Service
    port: int
    certificate: Path

    def conninfo(self, user: str = ADMIN[0], password: str = ADMIN[1], **members: Any) -> str:
        given = {"host": "127.0.0.1", "port": self.port, "user": user, "password": password, "dbname": "weir"}
        return psycopg.conninfo.make_conninfo(**{**given, "sslmode": "disable", **members})

    def connect(self, user: str = ADMIN[0], password: str = ADMIN[1], **members: Any) -> psycopg.Connection:
        return psycopg.connect(self.conninfo(user, password, **members), autocommit=True)


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "server.crt", folder / "server.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return paths


@pytest.fixture(scope="session")
def door(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A service of two workers, which tests share: use names of keys and roles of your own, and read `app`."""
    folder = tmp_path_factory.mktemp("pgwire")
    certificate, key = write_certificate(folder)
    port = free_port()
    with ExitStack() as stack:
        environment = service_environment(stack.enter_context(new_database())) | {
            "WEIR_PG_BIND": f"127.0.0.1:{port}",
            "WEIR_PG_TLS_CERT": str(certificate),
            "WEIR_PG_TLS_KEY": str(key),
        }
        service = Service(folder, environment).start()
        stack.callback(service.stop)
        assert service.ingest("app", EVENTS).status_code == 200
        yield Door(service, port, certificate)


@pytest.fixture
def connection(door: Door) -> Iterator[psycopg.Connection]:
    """The administrator's connection."""
    with door.connect() as opened:
        yield opened


@pytest.fixture
def start_door(start_service: Callable[..., Service]) -> Callable[..., Door]:
    """A function that starts a service of the test's own: `start_door(WEIR_PG_IDLE_SECONDS="1")`."""

    def start(workers: int = 1, **environment: str) -> Door:
        port = free_port()
        service = start_service(workers, **{"WEIR_PG_BIND": f"127.0.0.1:{port}", **environment})
        return Door(service, port, Path())

    return start
