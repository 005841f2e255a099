"""Targets sealed and opened: address, headers and password are only ever stored encrypted, bound to their target."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import urlsplit

from auth.secrets import Secrets
from models.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Everything needed to deliver to a target. Secret: it goes into no log and no answer."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict)
    username: str | None = None
    password: str | None = None
    skip_tls_check: bool = False

    def __repr__(self) -> str:
        return f"<destination {mask(self.endpoint)}>"


def seal(secrets: Secrets, target_id: str, destination: Destination) -> bytes:
    return secrets.seal(json.dumps(asdict(destination)), _bound_to(target_id))


def unseal(secrets: Secrets, target: Target) -> Destination:
    """Raises InternalError when it was sealed under another master key."""
    return Destination(**json.loads(secrets.unseal(target.content.sealed, _bound_to(target.origin.id))))


def mask(url: str) -> str:
    """All of a URL that may be shown: in hooks, the path is the password."""
    return f"{urlsplit(url).scheme}://********"


def _bound_to(target_id: str) -> str:
    return f"target {target_id}"
