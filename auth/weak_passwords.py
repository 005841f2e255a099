"""A server that others can reach does not start while its administrator's password can be guessed at once."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from auth.passwords import Passwords
from config import InvalidSetting
from models import user
from models.tenant import DEFAULT

SHORTEST: Final = 8
# Defaults of well-known products, and what people type first.
WELL_KNOWN: Final = (
    *("admin", "administrator", "root", "password", "passw0rd", "changeme", "secret", "default", "test", "weir"),
    *("parseable", "grafana", "12345678", "123456789", "qwertyuiop", "letmein", "admin123", "password1", "adminadmin"),
)


def refuse_guessable_password(
    passwords: Passwords, username: str, password: str | None, addresses: Iterable[str]
) -> None:
    """Checks the setting, and the stored hash too: it may have been set while only loopback was bound.

    `addresses` are those at which the server is reached (`reached_at`). Raises InvalidSetting.
    """
    if all(_is_local(address) for address in addresses):
        return
    guesses = (username, "", *WELL_KNOWN)
    if (password is not None and _is_weak(password, guesses)) or _is_stored(passwords, username, guesses):
        raise InvalidSetting(
            f"the password of {username} is short or well known, and others can reach this server: "
            "set another WEIR_ADMIN_PASSWORD before the first start, or bind to 127.0.0.1 with no proxy before it"
        )


def reached_at(addresses: Iterable[str], trusted_proxies: int, public_url: str | None) -> list[str]:
    """Where a server is reached: at what it binds, and at what stands before it.

    >>> reached_at(["127.0.0.1"], 0, "https://weir.example")
    ['127.0.0.1', 'weir.example']
    """
    public = [urlsplit(public_url).hostname or ""] if public_url else []
    # A proxy before a server that binds loopback alone is there for others.
    return [*addresses, *public, *(["a proxy"] if trusted_proxies else [])]


def _is_stored(passwords: Passwords, username: str, guesses: Iterable[str]) -> bool:
    found = user.find(DEFAULT, username)
    stored = None if found is None else found.password_hash
    return stored is not None and any(passwords.verify(stored, guess) for guess in guesses)


def _is_weak(password: str, guesses: Iterable[str]) -> bool:
    return len(password) < SHORTEST or password.lower() in guesses


def _is_local(address: str) -> bool:
    """
    >>> [_is_local(each) for each in ("127.0.0.1", "::1", "localhost", "", "0.0.0.0", "::", "weir.example")]
    [True, True, True, False, False, False, False]
    """
    if address == "localhost":
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
