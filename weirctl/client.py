"""A server as the command line sees it: JSON in, JSON out, errors as one line. Knows no command."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import requests

# Longer than the longest query by default.
SECONDS: Final = 330

# A name as a part of a path.
quoted = partial(quote, safe="")


class Refused(Exception):
    """The server said no, or nothing. `status` is None when it could not be reached; `said` is its answer."""

    def __init__(self, message: str, status: int | None = None, said: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.said = said or {}


@dataclass(frozen=True, slots=True)
class Server:
    """Where a Weir is and as whom to call it. `given_by` says where the credentials come from."""

    url: str
    user: tuple[str, str] | None = None
    api_key: str | None = field(default=None, repr=False)
    tenant: str | None = None
    given_by: str | None = None

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
            raise self._refused(answer)
        return answer

    def _refused(self, answer: requests.Response) -> Refused:
        said = _said(answer)
        if answer.status_code == 401 and said.get("code") == "unauthenticated":
            return Refused(self._stranger(), 401, said)
        return Refused(_message(said) or f"status {answer.status_code}: {answer.text[:200]}", answer.status_code, said)

    def _stranger(self) -> str:
        """What is wrong with the credentials, which the server tells nobody."""
        if self.api_key:
            return f"{self.url} does not take this API key ({self.given_by}): wrong, expired or deleted"
        if self.user:
            return f"{self.url}: wrong user or password: user {self.user[0]!r} ({self.given_by})"
        return f"{self.url} wants to know who you are: give --user NAME:PASSWORD or --api-key, or save a profile"

    def _identity(self) -> dict[str, str]:
        named = {"X-API-Key": self.api_key, "X-P-Tenant": self.tenant}
        return {name: value for name, value in named.items() if value}


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.ConnectionError):
        return "cannot connect"
    return "no answer in time" if isinstance(error, requests.Timeout) else str(error)


def _said(answer: requests.Response) -> dict[str, Any]:
    try:
        said = answer.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _message(said: Mapping[str, Any]) -> str | None:
    """The server's message with its hint; None for what is no error of its."""
    if not all(name in said for name in ("message", "code", "requestId")):
        return None
    hint = f"; hint: {said['hint']}" if said.get("hint") else ""
    return f"{said['message']}{hint} ({said['code']}, request {said['requestId']})"
