"""The settings: environment variables `WEIR_*`, read once. A bad value stops the start and names its variable."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MIB = 1024 * 1024
GIB = 1024 * MIB


class InvalidSetting(ValueError):
    """A variable has a value we cannot use. The message names it."""


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise ValueError("expected true or false")


def _whole(expected: str, least: int, most: float = math.inf) -> Callable[[str], int]:
    def read(text: str) -> int:
        # Python's own words for a text that is no number would say nothing of what is wanted.
        value = int(text) if text.strip().removeprefix("-").isdecimal() else least - 1
        if not least <= value <= most:
            raise ValueError(f"expected {expected}")
        return value

    return read


_positive = _whole("a positive whole number, such as 100", 1)
_bytes = _whole("a number of bytes, such as 16777216", 1)
_size = _whole("a number of bytes, such as 8589934592, or 0", 0)
_count = _whole("a whole number from 0 to 10", 0, 10)
_percent = _whole("a percentage from 1 to 100", 1, 100)


def _seconds(text: str) -> float:
    expected = ValueError("expected seconds, such as 300")
    try:
        value = float(text)
    except ValueError:
        raise expected from None
    if not 0 < value < 10**9:
        raise expected
    return value


def _seconds_or_never(text: str) -> float:
    return 0.0 if text.strip() == "0" else _seconds(text)


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"expected one of {', '.join(allowed)}")
        return text

    return read


def _url(*schemes: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        parts = urlsplit(text)
        if parts.scheme not in schemes or not (parts.netloc or parts.path):
            raise ValueError(f"expected a URL that starts with {' or '.join(s + '://' for s in schemes)}")
        return text

    return read


class Address(NamedTuple):
    """Where a socket is bound."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _address(text: str) -> Address:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16 or "/" in host or " " in host:
        raise ValueError("expected HOST:PORT, such as 127.0.0.1:4317 or [::]:4317")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _address_or_nothing(text: str) -> str:
    """`host:port`, or nothing for none."""
    return str(_address(text)) if text.strip() else ""


def setting(
    read: Callable[[str], Any], default: Any, meaning: str, *, secret: bool = False, may_be_empty: bool = False
) -> Any:
    """One setting: how its text is read, its default, and what the manual says of it.

    `may_be_empty`: set to nothing it means something else than unset.
    """
    metadata = {"read": read, "meaning": meaning, "secret": secret, "may_be_empty": may_be_empty}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting. The variable of a field is `WEIR_` and its name in capitals."""

    data_dir: Path = setting(Path, Path("./data"), "segments, Parquet files, the embedded PostgreSQL, secret files")
    database_url: str | None = setting(
        _url("postgresql", "postgres"), None, "PostgreSQL 14 or newer; unset: an embedded one is started"
    )
    storage_url: str | None = setting(_url("s3"), None, "`s3://bucket/prefix` for the Parquet files")
    object_cache_bytes: int = setting(
        _size, 8 * GIB, "with a bucket: most bytes of its files that are kept on the local disk; 0: none"
    )
    advertise_url: str | None = setting(
        _url("https", "http"),
        None,
        "where the other hosts of the deployment reach this one, as `http://10.0.0.5:8000`; unset: there are no others",
    )
    lost_hosts: str = setting(
        _one_of("refuse", "answer"),
        "refuse",
        "with several hosts: whether questions are refused while one cannot be asked; `answer`: SQL and PromQL are"
        " answered without what only that host has, and say so in the header `X-Weir-Gap`",
    )
    second_copy: bool = setting(
        _boolean,
        False,
        "with several hosts: whether another host has a copy of every event on its disk before it is acknowledged;"
        " without another host that lives, nothing is taken",
    )
    admin_username: str = setting(str, "admin", "name of the first administrator")
    admin_password: str | None = setting(
        str, None, "password of the first administrator; unset: generated and printed once", secret=True
    )
    secret_key: str | None = setting(
        str, None, "seals API keys; unset: a file of mode 0600 in the data directory", secret=True
    )
    multi_tenant: bool = setting(_boolean, False, "scope everything by the header `X-P-Tenant`")
    max_body_bytes: int = setting(_bytes, 16 * MIB, "largest request body as sent")
    max_decoded_bytes: int = setting(_bytes, 64 * MIB, "largest request body after decompression")
    max_columns: int = setting(_positive, 1000, "columns a dataset may have")
    max_new_columns: int = setting(_positive, 500, "new columns that one request may give a dataset")
    max_sender_columns: int = setting(
        _positive, 800, "columns of a dataset that one key or user may have sent first; dropped ones do not count"
    )
    max_inflight_bytes: int = setting(
        _bytes, 256 * MIB, "bodies in flight per worker, and what decoding protobuf makes of them, before 503"
    )
    otlp_grpc_bind: Address | None = setting(
        _address, None, "where OTLP/gRPC is taken, usually `127.0.0.1:4317`; unset: nowhere"
    )
    otlp_grpc_certificate: Path | None = setting(
        Path, None, "PEM file of the certificates that OTLP/gRPC shows; unset: it is not encrypted"
    )
    otlp_grpc_private_key: Path | None = setting(Path, None, "PEM file of the key of those certificates")
    disk_high_water_percent: int = setting(_percent, 92, "disk use at which ingestion is refused")
    disk_low_water_percent: int = setting(_percent, 88, "disk use below which ingestion resumes")
    query_timeout_seconds: float = setting(_seconds, 300.0, "longest run of one query")
    query_memory_bytes: int = setting(_bytes, 2 * GIB, "memory of one query")
    query_concurrency: int = setting(
        _positive,
        os.cpu_count() or 1,
        "queries that run at once on a host, and one more of administrators and alerts; default: its cores",
    )
    query_threads: int = setting(
        _positive, min(os.cpu_count() or 1, 8), "threads of one query; its memory grows with them"
    )
    query_queue: int = setting(_positive, 100, "queries that may wait in each worker before 503")
    query_queue_seconds: float = setting(_seconds, 30.0, "longest wait of a query for its turn before 503")
    slow_query_seconds: float = setting(
        _seconds, 1.0, "queries that took longer, their wait included, are kept for a day in `GET /api/v1/queries/slow`"
    )
    query_result_bytes: int = setting(_bytes, 16 * GIB, "largest result of one query, before compression")
    query_time_range: str = setting(
        _one_of("optional", "required"),
        "optional",
        "`required`: startTime and endTime are mandatory; of clients of PostgreSQL a lower bound in WHERE",
    )
    promql_points: int = setting(_positive, 11_000, "steps of one PromQL range query")
    promql_samples: int = setting(_positive, 50_000_000, "samples that one PromQL expression may read or hold")
    promql_series: int = setting(_positive, 500_000, "series that one selector of a PromQL expression may match")
    promql_experimental: bool = setting(
        _boolean, False, "also what Prometheus has behind `--enable-feature=promql-experimental-functions`"
    )
    spark_url: str | None = setting(
        _url("sc"),
        None,
        "Spark Connect of an existing cluster for large queries, as `sc://host:15002/;token=...`; unset: none",
        secret=True,
    )
    spark_bytes: int = setting(
        _size, 8 * GIB, "bytes of files after pruning above which a query runs on that cluster, unless it says where"
    )
    flush_seconds: float = setting(_seconds, 5.0, "age at which a segment with data is sealed for conversion")
    iceberg_seconds: float = setting(
        _seconds_or_never, 10.0, "most seconds from a Parquet file to its being in the Iceberg table; 0: no tables"
    )
    oidc_issuer: str | None = setting(_url("https", "http"), None, "OIDC issuer")
    oidc_client_id: str | None = setting(str, None, "OIDC client id")
    oidc_client_secret: str | None = setting(str, None, "OIDC client secret", secret=True)
    oidc_groups_claim: str = setting(str, "groups", "the claim whose values name roles")
    oidc_tenant_claim: str = setting(
        str, "tenant", "with several tenants: the claim whose values name those that a token is good for"
    )
    public_url: str | None = setting(
        _url("https", "http"), None, "origin for redirects and links; unset: from the request"
    )
    alert_allowed_hosts: tuple[str, ...] = setting(
        _names, (), "private hosts and CIDRs that alerts may be delivered to, separated by commas"
    )
    trusted_proxies: int = setting(
        _count, 0, "number of your proxies that every request passes: that many `X-Forwarded-For` entries are used"
    )
    log_format: str = setting(_one_of("text", "json"), "text", "`json`: one object per log line")
    log_level: str = setting(
        _one_of("debug", "info", "warning", "error"),
        "info",
        "lowest level that is logged: `debug`, `info`, `warning`, `error`",
    )
    self_dataset: str | None = setting(
        str, None, "dataset of the tenant `default` in which Weir stores its own log lines and metrics; unset: none"
    )
    self_seconds: float = setting(_seconds, 60.0, "how often Weir's own metrics are stored in `WEIR_SELF_DATASET`")
    pg_bind: str | None = setting(
        _address_or_nothing,
        None,
        "where clients of PostgreSQL connect, `host:port`; unset: `127.0.0.1:5433` if it is free; empty: nowhere",
        may_be_empty=True,
    )
    pg_tls_cert: Path | None = setting(Path, None, "certificate chain (PEM) for clients of PostgreSQL")
    pg_tls_key: Path | None = setting(Path, None, "key (PEM) of that certificate")
    pg_tls: str = setting(
        _one_of("on", "off"),
        "on",
        "`off`: clients of PostgreSQL on other hosts need no TLS, as behind a proxy that has it",
    )
    pg_connections: int = setting(_positive, 200, "connections of clients of PostgreSQL that a host takes")
    pg_identity_connections: int = setting(_positive, 100, "of those, connections of one user or API key")
    pg_idle_seconds: float = setting(_seconds, 3600.0, "how long such a connection may ask nothing")
    http_stack: str = setting(
        _one_of("fast", "stock"),
        "fast",
        "`stock`: Flask, gunicorn's gevent worker and prometheus_client as they come, without Weir's faster versions",
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Settings from the environment. An empty variable counts as unset. Raises InvalidSetting."""
        known = {variable(each.name): each for each in fields(cls)}
        _refuse_unknown(environ, known)
        given = {
            each.name: _read(name, each.metadata["read"], environ[name])
            for name, each in known.items()
            if environ.get(name) or (name in environ and each.metadata["may_be_empty"])
        }
        return cls(**given)._checked()

    def make_data_dir(self) -> None:
        """Create the data directory for this account alone. One that root makes, PostgreSQL's account has to enter."""
        if os.geteuid():
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            return
        others = os.umask(0o022)
        try:
            self.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
        finally:
            os.umask(others)

    def _checked(self) -> "Settings":
        if (self.oidc_issuer is None) != (self.oidc_client_id is None):
            raise InvalidSetting("WEIR_OIDC_ISSUER and WEIR_OIDC_CLIENT_ID belong together: set both or none")
        if (self.otlp_grpc_certificate is None) != (self.otlp_grpc_private_key is None):
            raise InvalidSetting(
                "WEIR_OTLP_GRPC_CERTIFICATE and WEIR_OTLP_GRPC_PRIVATE_KEY belong together: set both or none"
            )
        if self.advertise_url is not None and (self.storage_url is None or self.database_url is None):
            raise InvalidSetting(
                "WEIR_ADVERTISE_URL makes this one of several hosts, which share PostgreSQL and a bucket: "
                "set WEIR_DATABASE_URL and WEIR_STORAGE_URL too"
            )
        if self.second_copy and self.advertise_url is None:
            raise InvalidSetting("WEIR_SECOND_COPY needs other hosts: set WEIR_ADVERTISE_URL too")
        if (self.pg_tls_cert is None) != (self.pg_tls_key is None):
            raise InvalidSetting("WEIR_PG_TLS_CERT and WEIR_PG_TLS_KEY belong together: set both or none")
        if self.disk_low_water_percent > self.disk_high_water_percent:
            raise InvalidSetting("WEIR_DISK_LOW_WATER_PERCENT is above WEIR_DISK_HIGH_WATER_PERCENT")
        return self


def close_to_others() -> None:
    """Whatever this process and its children create from here on, accounts that are not of its group cannot read.

    For events and statements in a data directory that others may enter, as one that root made.
    """
    os.umask(os.umask(0o077) | 0o027)


def variable(name: str) -> str:
    """The environment variable of a field: `max_columns` is set by `WEIR_MAX_COLUMNS`."""
    return "WEIR_" + name.upper()


def _read(name: str, read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise InvalidSetting(f"{name}: {error}") from error


def _refuse_unknown(environ: Mapping[str, str], known: Mapping[str, Any]) -> None:
    """A misspelt setting that is silently ignored is worse than a stop."""
    unknown = sorted(name for name in environ if name.startswith("WEIR_") and name not in known)
    if unknown:
        raise InvalidSetting("; ".join(f"{name}: no such setting{_meant(name, known)}" for name in unknown))


def _meant(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""
