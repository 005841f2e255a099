"""One call: what its metadata and its peer say of it. Knows neither identities nor storage."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Final
from urllib.parse import unquote

import grpc

from serving.sane_id import SANE_ID

REQUEST_ID: Final = "x-request-id"


@dataclass(frozen=True, slots=True)
class Call:
    """`environ` is its metadata, named as WSGI names headers: so every door reads the same words."""

    path: str
    environ: Mapping[str, str]
    src_ip: str
    id: str
    started: float = field(default_factory=monotonic)

    @property
    def user_agent(self) -> str:
        return self.environ.get("HTTP_USER_AGENT", "")


def call_of(path: str, context: grpc.aio.ServicerContext) -> Call:
    """The call that is served in this context."""
    environ = environ_of(context.invocation_metadata() or ())
    sent = environ.get("HTTP_X_REQUEST_ID", "")
    return Call(path, environ, address_of(context.peer()), sent if SANE_ID.fullmatch(sent) else os.urandom(16).hex())


def environ_of(metadata: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    """Metadata as WSGI's variables. A name with an underscore is nobody's: it would become another's.

    >>> environ_of([("x-p-stream", "app"), ("x_p_stream", "other"), ("x-p-a", "1"), ("x-p-a", "2")])
    {'HTTP_X_P_STREAM': 'app', 'HTTP_X_P_A': '1,2'}
    """
    environ: dict[str, str] = {}
    for name, value in metadata:
        if "_" in name or not isinstance(value, str):
            continue
        variable = "HTTP_" + name.upper().replace("-", "_")
        environ[variable] = f"{environ[variable]},{value}" if variable in environ else value
    return environ


def address_of(peer: str) -> str:
    """The network address in gRPC's word for a peer.

    >>> address_of("ipv4:127.0.0.1:50344"), address_of("ipv6:%5B::1%5D:50344")
    ('127.0.0.1', '::1')
    """
    kind, _, rest = peer.partition(":")
    return unquote(rest).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else ""
