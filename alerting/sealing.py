"""Targets sealed and opened: address, headers and password are only ever stored encrypted, bound to their target."""

import json
from dataclasses import asdict
from typing import Any

from alerting.registry import AnyKind, stored
from auth.secrets import Secrets
from models.target import Target


def seal(secrets: Secrets, target_id: str, destination: Any) -> bytes:
    """`destination`: an instance of its kind's dataclass."""
    return secrets.seal(json.dumps(asdict(destination)), _bound_to(target_id))


def unseal(secrets: Secrets, target: Target) -> tuple[AnyKind, Any]:
    """A target's kind and its destination.

    Raises InternalError when it was sealed under another master key, or by a version that knows more kinds.
    """
    kind = stored(target.content.kind)
    members = json.loads(secrets.unseal(target.content.sealed, _bound_to(target.origin.id)))
    return kind, kind.destination(**members)


def _bound_to(target_id: str) -> str:
    return f"target {target_id}"
