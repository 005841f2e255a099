"""A server as the command line sees it: JSON in, JSON out, errors as one line. Knows no command."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import requests

# Longer than the longest query by default.
SECONDS: Final = 330


class Refused(Exception):
    """The server said no, or nothing. `status` is None when it could not be reached."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Server:
    """Where a Weir is and as whom to call it."""

    url: str
    user: tuple[str, str] | None = None
    api_key: str | None = field(default=None, repr=False)
    tenant: str | None = None

    def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
    ) -> requests.Response:
        """The successful answer. Raises Refused with the server's own words."""
        try:
            answer = requests.request(
                method,
                self.url.rstrip("/") + path,
                json=json,
                data=data,
                auth=None if self.api_key else self.user,
                headers={**self._identity(), **(headers or {})},
                timeout=SECONDS,
                stream=stream,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise Refused(f"{self.url}: {_reason(error)}") from error
        if answer.status_code >= 300:
            raise Refused(_message(answer), answer.status_code)
        return answer

    def _identity(self) -> dict[str, str]:
        named = {"X-API-Key": self.api_key, "X-P-Tenant": self.tenant}
        return {name: value for name, value in named.items() if value}


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.ConnectionError):
        return "cannot connect"
    return "no answer in time" if isinstance(error, requests.Timeout) else str(error)


def _message(answer: requests.Response) -> str:
    try:
        said = answer.json()
        return f"{said['message']} ({said['code']}, request {said['requestId']})"
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}: {answer.text[:200]}"
