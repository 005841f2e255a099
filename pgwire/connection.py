"""A client's connection: messages in, bytes out, TLS, and whether the client is still there."""

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256, Hash, HashAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from pgwire import messages
from pgwire.messages import LENGTH, First, Message, ProtocolViolation

# What is written to a client before it takes it costs memory; the kernel holds some more.
FLUSH_BYTES: Final = 64 * 1024
PIECE_BYTES: Final = 16 * 1024
# The state of a connection that neither side has closed (tcp(7), TCP_INFO).
ESTABLISHED: Final = 1


class Gone(Exception):
    """The client has closed the connection, or broken it."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The server's side of TLS. `certificate_hash` binds logins to the channel (RFC 5929, tls-server-end-point)."""

    context: ssl.SSLContext
    certificate_hash: bytes

    @classmethod
    def load(cls, certificate: Path, key: Path) -> "Tls":
        """Raises OSError, ValueError for files that cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(certificate, key)
        # PostgreSQL 17's direct connections ask for it.
        context.set_alpn_protocols(["postgresql"])
        return cls(context, _end_point(x509.load_pem_x509_certificate(certificate.read_bytes())))


def _end_point(certificate: x509.Certificate) -> bytes:
    """RFC 5929 section 4.1: the hash of the signature's algorithm, SHA-256 in place of MD5 and SHA-1."""
    algorithm = certificate.signature_hash_algorithm
    is_weak = algorithm is None or algorithm.name in ("md5", "sha1")
    used: HashAlgorithm = SHA256() if is_weak or algorithm is None else algorithm
    digest = Hash(used)
    digest.update(certificate.public_bytes(Encoding.DER))
    return digest.finalize()


class Connection:
    """One client. `out` collects what is sent with the next flush."""

    def __init__(self, client: socket.socket, address: str) -> None:
        self.address = address
        self.is_tls = False
        self.out = bytearray()
        self._socket = client
        self._buffer = bytearray()

    def read_first(self) -> First:
        """The message that opens the connection. Raises Gone, ProtocolViolation, TimeoutError."""
        length = LENGTH.unpack(self._take(LENGTH.size))[0]
        return messages.read_first(self._take(messages.body_bytes(length, messages.LARGEST_STARTUP_BYTES)))

    def read_login(self) -> bytes:
        """The body of a message that answers to an authentication request. Raises as `read`."""
        kind, body = self._read_raw(messages.LARGEST_LOGIN_BYTES)
        if kind != b"p":
            raise ProtocolViolation("expected a SASL response")
        return body

    def read(self) -> Message:
        """The next message of a session. Raises Gone, ProtocolViolation, TimeoutError."""
        return messages.read(*self._read_raw(messages.LARGEST_MESSAGE_BYTES))

    def _read_raw(self, largest: int) -> tuple[bytes, bytes]:
        head = self._take(1 + LENGTH.size)
        return head[:1], self._take(messages.body_bytes(LENGTH.unpack_from(head, 1)[0], largest))

    @property
    def has_more(self) -> bool:
        """Whether something of the next message is here already: the client sends without waiting for answers."""
        return bool(self._buffer)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                piece = self._socket.recv(PIECE_BYTES)
            except TimeoutError:
                raise
            except OSError as error:
                raise Gone(str(error)) from error
            if not piece:
                raise Gone("the client closed the connection")
            self._buffer += piece
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def set_patience(self, seconds: float | None) -> None:
        """How long to wait for the client."""
        self._socket.settimeout(seconds)

    def send(self, content: bytes | memoryview) -> None:
        """Send soon; now, if much has gathered. Raises Gone."""
        if len(content) >= FLUSH_BYTES:
            self.flush()
            self._send_all(content)
            return
        self.out += content
        if len(self.out) >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Returns when the kernel has all of it. Raises Gone."""
        if not self.out:
            return
        content, self.out = self.out, bytearray()
        self._send_all(content)

    def _send_all(self, content: bytes | bytearray | memoryview) -> None:
        try:
            self._socket.sendall(content)
        except OSError as error:
            raise Gone(str(error)) from error

    def start_tls(self, tls: Tls) -> None:
        """Raises Gone, ProtocolViolation.

        What was sent before is in the clear, and whoever is in between may have sent it (CVE-2021-23214).
        """
        if self._buffer:
            raise ProtocolViolation("received unencrypted data after SSL request")
        try:
            self._socket = tls.context.wrap_socket(self._socket, server_side=True)
        except OSError as error:
            raise Gone(str(error)) from error
        self.is_tls = True

    def is_gone(self) -> bool:
        """Whether the client has closed the connection, as the kernel knows it: bytes may be there that it sent before,
        as a Terminate, and under TLS nothing can be looked at."""
        try:
            return self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != ESTABLISHED
        except OSError:
            return True

    def close(self) -> None:
        self._socket.close()
