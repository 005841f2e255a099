"""Key material and what is done with it: the digest that finds an API key, and the sealing of its copy.

Two keys are derived from one master key, so the digest in an index tells nothing about the sealed copy.
"""

import hmac
import os
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from errors import InternalError
from models import key_check

NONCE_BYTES: Final = 12  # what AES-GCM is defined for (NIST SP 800-38D); random, as keys are far fewer than 2^32
MASTER_BYTES: Final = 32
SHORTEST_SECRET_KEY: Final = 16
FILE_NAME: Final = "secret.key"
CHECK: Final = "which key is this?"


class Secrets:
    """Digests and seals, under keys derived from `master`."""

    def __init__(self, master: bytes) -> None:
        self._master = master
        self._digest_key = self.derive("api key digest")
        self._seal = AESGCM(self.derive("api key seal"))

    def derive(self, purpose: str) -> bytes:
        """A key of 32 bytes for one purpose; knowing it tells nothing about the others (RFC 5869)."""
        return HKDF(SHA256(), 32, salt=None, info=f"weir {purpose}".encode()).derive(self._master)

    def digest(self, secret: str) -> bytes:
        """What the secret is found by: 32 bytes that cannot be computed, nor checked, without the key."""
        return hmac.digest(self._digest_key, secret.encode(), "sha256")

    def seal(self, secret: str, bound_to: str) -> bytes:
        """The secret encrypted and bound to a name: a sealed copy moved to another key's row does not open."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._seal.encrypt(nonce, secret.encode(), bound_to.encode())

    def unseal(self, sealed: bytes, bound_to: str) -> str:
        """Raises InternalError when it was sealed under another master key."""
        try:
            opened = self._seal.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound_to.encode())
        except InvalidTag as error:
            raise InternalError("a stored secret was sealed under another WEIR_SECRET_KEY") from error
        return opened.decode()


def require_same_key(secrets: Secrets) -> None:
    """Raises InternalError when the database's API keys belong to another secret key: all of them would be refused.

    So it is with a second host that has made a key file of its own, and with a lost file.
    """
    digest = secrets.digest(CHECK)
    if not hmac.compare_digest(key_check.ensure(digest), digest):
        raise InternalError(
            "the database was first used with another secret key: set WEIR_SECRET_KEY to that key, or copy its host's "
            f"{FILE_NAME}; if it is lost, so are the API keys: empty the tables api_key, session and key_check"
        )


def master_key(secret_key: str | None, directory: Path) -> bytes:
    """The master key: from the setting, or from a file of mode 0600 that the first start makes.

    Raises InternalError when the setting is too short, or others may read the file.
    """
    if secret_key is None:
        return _read(_ensure(directory / FILE_NAME))
    if len(secret_key) < SHORTEST_SECRET_KEY:
        raise InternalError(f"WEIR_SECRET_KEY is shorter than {SHORTEST_SECRET_KEY} characters")
    return secret_key.encode()


def _ensure(path: Path) -> Path:
    """Written whole under a name of its own, then linked: of workers that start together one wins, none reads half."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(os.urandom(MASTER_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    _sync_directory(path.parent)
    return path


def _sync_directory(directory: Path) -> None:
    """Losing the file after a power cut would lose every key sealed under it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise InternalError(f"{path} can be read by others: chmod 600 it")
        master = file.read()
    if len(master) != MASTER_BYTES:
        raise InternalError(f"{path} is not a key file: {len(master)} bytes, expected {MASTER_BYTES}")
    return master
