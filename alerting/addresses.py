"""Where notices may go: the address policy against server-side request forgery (docs/alerts.md). Pure.

A URL is judged twice: as text when a target is made, and each time before a connection, by the very address that is
then connected to, so that a name which resolves differently the next moment gains nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from errors import InvalidRequest

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS: Final = {"http": 80, "https": 443, "smtp": 587, "smtps": 465}
HTTP: Final = ("http", "https")
LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
NAME: Final = re.compile(rf"{LABEL}(?:\.{LABEL})*")
# As the URL standard has it: a last label of digits, or of 0x and hexadecimal digits, makes the host a number.
NUMERIC: Final = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)")

# The IANA special-purpose registries and multicast: whatever of IPv4 is not out there on the internet.
SPECIAL_V4: Final = tuple(
    IPv4Network(each)
    for each in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
        " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    ).split()
)
# Of IPv6 only global unicast is out there; of that not what tunnels IPv4 (Teredo, 6to4), nor documentation.
GLOBAL_V6: Final = IPv6Network("2000::/3")
SPECIAL_V6: Final = tuple(IPv6Network(each) for each in "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split())
# RFC 6052: behind a NAT64 every public IPv4 address has this prefix, and every private one too.
NAT64: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A checked URL in its parts; `host` in lower case, without brackets and final dot. `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """What the `Host` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Policy:
    """What an administrator lets through beside the public internet: hosts by name, networks by CIDR."""

    hosts: frozenset[str]
    networks: tuple[Network, ...]

    @classmethod
    def of(cls, allowed: Iterable[str]) -> "Policy":
        """From the entries of WEIR_ALERT_ALLOWED_HOSTS: names, addresses and CIDRs."""
        hosts, networks = set(), []
        for entry in allowed:
            try:
                networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                hosts.add(_canonical(entry))
        return cls(frozenset(hosts), tuple(networks))

    def names(self, host: str) -> bool:
        """Whether the administrator named this very host: then it may be wherever it is."""
        return host in self.hosts or (_is_address(host) and self._lists(_unwrapped(ip_address(host))))

    def permits(self, host: str, address: Address) -> bool:
        """Whether a connection to `host` may be made by `address`."""
        plain = _unwrapped(address)
        return host in self.hosts or self._lists(plain) or _is_public(plain)

    def _lists(self, plain: Address) -> bool:
        return any(plain in network for network in self.networks)


def check(url: str, policy: Policy, schemes: Sequence[str] = HTTP) -> Endpoint:
    """The endpoint behind a URL, when it may be one. Raises InvalidRequest. Resolves nothing.

    >>> check("https://Hooks.example.com/a?b=c", Policy.of(()))
    Endpoint(scheme='https', host='hooks.example.com', port=443, target='/a?b=c')
    """
    endpoint = _parse(url, schemes)
    if _is_address(endpoint.host) and not policy.permits(endpoint.host, ip_address(endpoint.host)):
        raise _refused(
            "is an address that notices may not be sent to; an administrator may name it in WEIR_ALERT_ALLOWED_HOSTS"
        )
    return endpoint


def choose(endpoint: Endpoint, addresses: Sequence[str], policy: Policy) -> str | None:
    """The address to connect to; None when any of them is not permitted: an honest name does not mix the two."""
    if not addresses or not all(_may_connect(endpoint.host, each, policy) for each in addresses):
        return None
    return addresses[0]


def _may_connect(host: str, address: str, policy: Policy) -> bool:
    return "%" not in address and policy.permits(host, ip_address(address))


def _parse(url: str, schemes: Sequence[str]) -> Endpoint:
    # Parsers disagree on what these mean, and each disagreement is a way around the check.
    if not url.isascii() or not url.isprintable() or set(url) & set(' "<>\\^`{|}'):
        raise _refused("holds characters that a URL cannot")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refused("is not a URL") from error
    if parts.scheme not in schemes:
        raise _refused(f"must start with {' or '.join(f'{each}://' for each in schemes)}")
    if "@" in parts.netloc or parts.fragment:
        raise _refused("must have no user name and no fragment")
    host = _canonical(parts.hostname or "")
    if not (_is_address(host) or _is_name(host)) or port == 0:
        raise _refused("must name a host, by name or by address in its usual notation")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme, host, PORTS[parts.scheme] if port is None else port, target)


def _canonical(host: str) -> str:
    return host.lower().removesuffix(".")


def _is_name(host: str) -> bool:
    return len(host) <= 253 and NAME.fullmatch(host) is not None and not NUMERIC.fullmatch(host.rpartition(".")[2])


def _is_address(host: str) -> bool:
    """Whether this is an address as one writes it: no octal, no hexadecimal, no missing parts, no zone."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def _unwrapped(address: Address) -> Address:
    """The IPv4 address inside, where the network would deliver to that."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_public(plain: Address) -> bool:
    if isinstance(plain, IPv4Address):
        return not any(plain in network for network in SPECIAL_V4)
    return plain in GLOBAL_V6 and not any(plain in network for network in SPECIAL_V6)


def _refused(rule: str) -> InvalidRequest:
    return InvalidRequest(f"`endpoint` {rule}", field="endpoint")
