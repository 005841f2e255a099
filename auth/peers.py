"""How the hosts of a deployment know each other: by signatures under the secret key that all of them have."""

import hmac
import math
import time
from collections.abc import Callable
from typing import Final

from auth.secrets import Secrets
from errors import Unauthenticated

# How long a signed request is good for, and so how far the clocks of two hosts may be apart.
LONGEST_SECONDS: Final = 30.0


class PeerKey:
    """Signs and checks what hosts say to each other. No user's credential is worth anything here."""

    def __init__(self, secrets: Secrets, clock: Callable[[], float] = time.time) -> None:
        self._key = secrets.derive("host to host")
        self._clock = clock

    def sign(self, *parts: bytes) -> str:
        """64 hexadecimal digits that only the deployment's hosts can compute. No part can run into another."""
        told = b"".join(len(part).to_bytes(8) + part for part in parts)
        return hmac.digest(self._key, told, "sha256").hex()

    def signed(self, signature: str, *parts: bytes) -> bool:
        """Whether a host of the deployment has signed exactly this."""
        return hmac.compare_digest(signature.encode(), self.sign(*parts).encode())

    def admit(self, signature: str, moment: str, *parts: bytes) -> None:
        """Raise Unauthenticated unless a host has signed the parts at that moment (seconds since 1970), just now."""
        age_seconds = self._clock() - _seconds(moment)
        if not self.signed(signature, moment.encode(), *parts):
            raise Unauthenticated("only hosts of this deployment are answered here")
        if abs(age_seconds) > LONGEST_SECONDS:
            raise Unauthenticated(f"this was signed {age_seconds:.0f} seconds ago: are the hosts' clocks set?")


def _seconds(moment: str) -> float:
    """Raises Unauthenticated for what is no moment, as infinity and NaN, which is never too old."""
    try:
        seconds = float(moment)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise Unauthenticated("only hosts of this deployment are answered here")
    return seconds
