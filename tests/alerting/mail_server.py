"""A real SMTP server on loopback (aiosmtpd) that remembers its mail, with TLS under a certificate of our own."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.running import free_port


@dataclass
class Mailed:
    """`refused`: what is answered to recipients instead of 250; `answer`: what is answered to the mail."""

    port: int
    answer: str = "250 OK"
    refused: dict[str, str] = field(default_factory=dict)
    received: list[tuple[Envelope, EmailMessage]] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    was_tls: list[bool] = field(default_factory=list)

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        if address not in self.refused:
            envelope.rcpt_tos.append(address)
        return self.refused.get(address, "250 OK")

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.was_tls.append(session.ssl is not None)
        parsed = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        self.received.append((envelope, parsed))
        return self.answer

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
        self.logins.append((given.login, given.password))
        return AuthResult(success=given.password == b"p4ssw0rd", handled=False)


@contextmanager
def mail_server(certificate: Path, *, how: str = "starttls", wants_login: bool = False) -> Iterator[Mailed]:
    """`how`: `starttls`, `tls` from the first byte, or `plain`."""
    mailed = Mailed(free_port())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    controller = Controller(
        mailed,
        hostname="127.0.0.1",
        port=mailed.port,
        ssl_context=context if how == "tls" else None,
        tls_context=context if how == "starttls" else None,
        authenticator=mailed.authenticate,
        auth_required=wants_login,
        auth_require_tls=how == "starttls",
    )
    controller.start()
    try:
        yield mailed
    finally:
        controller.stop()


def make_certificate(folder: Path) -> Path:
    """Key and self-signed certificate of localhost, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "localhost.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
