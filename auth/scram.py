"""SCRAM-SHA-256 (RFC 5802, RFC 7677) on the server's side: what proves a password or a key's secret without sending it.

A verifier is sealed where it is stored: with few rounds, as clients expect them, it would be easier to guess from than
the digest beside it (docs/decisions/pgwire.md).
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets as random
import stringprep
import unicodedata
from dataclasses import dataclass
from typing import Final

from auth.secrets import Secrets

PLAIN: Final = "SCRAM-SHA-256"
BOUND: Final = "SCRAM-SHA-256-PLUS"
# PostgreSQL's number. Clients compute them at each login, some of them in an interpreter.
ITERATIONS: Final = 4096
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 18
LONGEST_NONCE: Final = 256


class ScramError(ValueError):
    """The client's message is none of this exchange."""


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """What a server keeps of a password (RFC 5802 section 3). Whoever has it can pose as the server, not log in."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def text(self) -> str:
        """In the form of PostgreSQL's pg_authid."""
        salt, stored, server = (
            base64.b64encode(each).decode() for each in (self.salt, self.stored_key, self.server_key)
        )
        return f"{PLAIN}${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def parse(cls, text: str) -> "ScramVerifier":
        """What `text` wrote."""
        _, parameters, keys = text.split("$")
        iterations, salt = parameters.split(":")
        stored_key, server_key = keys.split(":")
        return cls(base64.b64decode(salt), int(iterations), base64.b64decode(stored_key), base64.b64decode(server_key))


def verifier_of(password: str, salt: bytes, iterations: int = ITERATIONS) -> ScramVerifier:
    """The verifier of a password.

    >>> verifier = verifier_of("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    >>> verifier.text()[:44]
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$'
    """
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return ScramVerifier(
        salt, iterations, hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256")
    )


def prepared(password: str) -> bytes:
    """SASLprep (RFC 4013). What it forbids stays as it is, as in PostgreSQL."""
    if password.isascii():
        return password.encode()
    mapped = "".join(
        " " if stringprep.in_table_c12(each) else each for each in password if not stringprep.in_table_b1(each)
    )
    normal = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    return (password if not normal or any(map(_is_forbidden, normal)) else normal).encode()


def _is_forbidden(character: str) -> bool:
    tables = (stringprep.in_table_a1, stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3)
    more = (stringprep.in_table_c4, stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7)
    return any(table(character) for table in (*tables, *more, stringprep.in_table_c8, stringprep.in_table_c9))


class ScramVerifiers:
    """Makes and opens sealed verifiers of users, and computes those of keys."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._salt_key = secrets.derive("scram salt")

    def seal(self, tenant: str, name: str, password: str) -> bytes:
        """The sealed verifier of a user's password. Takes a few milliseconds."""
        return self._secrets.seal(verifier_of(password, os.urandom(SALT_BYTES)).text(), _bound_to(tenant, name))

    def open(self, tenant: str, name: str, sealed: bytes) -> ScramVerifier:
        """The verifier that `seal` made. Raises InternalError when it was sealed under another key, or for another."""
        return ScramVerifier.parse(self._secrets.unseal(sealed, _bound_to(tenant, name)))

    def of_secret(self, key_id: str, sealed: bytes) -> ScramVerifier:
        """The verifier of an API key's secret, always the same. Takes a few milliseconds."""
        return verifier_of(self._secrets.unseal(sealed, key_id), self._salt(key_id))

    def of_nobody(self, tenant: str, name: str) -> ScramVerifier:
        """What a name that means nobody looks like: the same at each attempt, and no password proves it.

        It takes as long as a key's, and is made for each login, so that its time does not tell a name from another.
        """
        return verifier_of(os.urandom(32).hex(), self._salt(f"{tenant}/{name}"))

    def _salt(self, name: str) -> bytes:
        return hmac.digest(self._salt_key, name.encode(), "sha256")[:SALT_BYTES]


def _bound_to(tenant: str, name: str) -> str:
    return f"scram {tenant}/{name}"


class ScramExchange:
    """One login: `first`, then `is_proof`, then `signature`. `binding` is the TLS channel's, if the client may use it.

    `certificate_hash` None: the connection has no channel that can be bound.
    """

    def __init__(self, mechanism: str, certificate_hash: bytes | None) -> None:
        self._mechanism, self._hash = mechanism, certificate_hash
        self._bare = self._server_first = self._without_proof = ""
        self._header = b""
        self._verifier: ScramVerifier | None = None

    def first(self, message: bytes, verifier: ScramVerifier, nonce: str | None = None) -> bytes:
        """The answer to the client's first message. Raises ScramError."""
        text = _text(message)
        flag, separator, rest = text.partition(",")
        name, separator_2, bare = rest.partition(",")
        if not separator or not separator_2 or (name and not name.startswith("a=")):
            raise ScramError("malformed SCRAM message")
        self._check_flag(flag)
        attributes = bare.split(",")
        if len(attributes) < 2 or not attributes[0].startswith("n=") or not attributes[1].startswith("r="):
            raise ScramError("malformed SCRAM message")
        client_nonce = attributes[1][2:]
        if not client_nonce or len(client_nonce) > LONGEST_NONCE or not client_nonce.isprintable():
            raise ScramError("malformed SCRAM nonce")
        self._header = f"{flag},{name},".encode()
        self._bare, self._verifier = bare, verifier
        self._nonce = client_nonce + (nonce or random.token_urlsafe(NONCE_BYTES))
        salt = base64.b64encode(verifier.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={verifier.iterations}"
        return self._server_first.encode()

    def _check_flag(self, flag: str) -> None:
        """RFC 5802 section 6. `y`: the client believes that we cannot bind the channel; if we can, somebody lied."""
        if self._mechanism == BOUND:
            if flag != "p=tls-server-end-point":
                raise ScramError("unsupported SCRAM channel binding")
        elif flag == "y":
            if self._hash is not None:
                raise ScramError("the client believes that this server does not bind channels, but it does")
        elif flag != "n":
            raise ScramError("malformed SCRAM message")

    def is_proof(self, message: bytes) -> bool:
        """Whether the client's final message proves the password. Raises ScramError for what is none."""
        text = _text(message)
        without_proof, separator, proof = text.rpartition(",p=")
        attributes = without_proof.split(",")
        if self._verifier is None or not separator or len(attributes) < 2:
            raise ScramError("malformed SCRAM message")
        binding = self._header + (self._hash or b"" if self._mechanism == BOUND else b"")
        if attributes[0] != f"c={base64.b64encode(binding).decode()}":
            raise ScramError("SCRAM channel binding check failed")
        self._without_proof = without_proof
        sent = _decoded(proof)
        signature = hmac.digest(self._verifier.stored_key, self._messages(), "sha256")
        client_key = bytes(a ^ b for a, b in zip(sent.ljust(32, b"\0"), signature, strict=False))
        is_right = hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key)
        return is_right and attributes[1] == f"r={self._nonce}" and len(sent) == len(signature)

    def signature(self) -> bytes:
        """The server's final message: it knows the verifier, so it is no impostor."""
        if self._verifier is None:
            raise ScramError("malformed SCRAM message")
        return b"v=" + base64.b64encode(hmac.digest(self._verifier.server_key, self._messages(), "sha256"))

    def _messages(self) -> bytes:
        return f"{self._bare},{self._server_first},{self._without_proof}".encode()


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError as error:
        raise ScramError("malformed SCRAM message") from error


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ScramError("malformed SCRAM proof") from error
