"""What tenants, users, roles and keys may be called."""

import re
from typing import Final, TypeGuard

from errors import InvalidName

LONGEST: Final = 200
# A tenant is a directory name and a header value. Lower case only, so no two differ by case alone on any file system.
TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
# No colon, which ends the user name in Basic credentials (RFC 7617).
USER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")
ROLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}")


def is_text(value: object) -> TypeGuard[str]:
    """Whether the value is a string that PostgreSQL, a log and a header line can hold: printable, no lone surrogate."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable()


def check_tenant(name: str) -> str:
    return _check(TENANT, "tenant", name, "1-63 of lower-case letters, digits, `-`, `_`")


def check_user(name: str) -> str:
    return _check(USER, "user", name, "1-128 of letters, digits and `._@+-`, starting with a letter or digit")


def check_role(name: str) -> str:
    """`default` is the address of the default role, so no role can have that name."""
    if name == "default":
        raise InvalidName("a role cannot be called default", field="name")
    return _check(ROLE, "role", name, "1-100 of letters, digits, space and `._-`, starting with a letter or digit")


def _check(pattern: re.Pattern[str], noun: str, name: str, rule: str) -> str:
    if not pattern.fullmatch(name):
        raise InvalidName(f"a {noun} name is {rule}", field="name")
    return name
