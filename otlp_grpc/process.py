"""The process of OTLP/gRPC: one per host, run as `python -m processes.run otlp_grpc.process --parent PID`.

It may be killed at any moment and started again: what it answered is on stable storage.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as grpc_health

from auth import access
from auth.access import AccessOptions
from auth.passwords import Passwords
from auth.peers import PeerKey
from auth.verify import Claim
from config import Settings
from embedded_postgres import server
from errors import WeirError
from metrics.meters import Meters
from models.base import bind
from models.column import Limits as ColumnLimits
from otlp_grpc.call import Call
from otlp_grpc.caller import Callers
from otlp_grpc.receiver import Limits, Receiver
from otlp_grpc.service import ExportService
from processes.background import start
from processes.child import Wait
from serving import shared_counters
from storage.cluster import host
from storage.cluster.copying import Copier
from storage.files import object_cache
from storage.write.engine import Storage
from web.audit_record import NOBODY, WRONG_PASSWORD, Asked, Deed, target_of_guess, write
from web.inflight import Inflight
from web.ingestion.otlp import EXPORTS
from web.ingestion.writer import Writer

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

# Calls that are decoded and stored at once. More wait for the same interpreter.
THREADS: Final = 16
STOP_SECONDS: Final = 20.0
HEALTH_SECONDS: Final = 5.0
SERVING: Final = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING: Final = health_pb2.HealthCheckResponse.NOT_SERVING


@dataclass(frozen=True, slots=True)
class Components:
    """What the process is made of."""

    settings: Settings
    access: access.Access
    storage: Storage
    meters: Meters
    receiver: Receiver

    def close(self) -> None:
        """Write what is queued and seal the segment."""
        self.access.last_use.close()
        self.receiver.close()
        self.storage.close()


def build(settings: Settings) -> Components:
    """The models are bound, and counters shared, already."""
    identity = access.build(AccessOptions.of(settings), Passwords(_here))
    meters = Meters()
    storage = _storage(settings, identity, meters)
    writer = Writer(storage)
    receiver = Receiver(
        Callers(identity, partial(_record_wrong_password, writer)),
        writer,
        meters,
        Inflight(settings.max_inflight_bytes),
        Limits(settings.max_decoded_bytes, settings.max_columns),
    )
    return Components(settings, identity, storage, meters, receiver)


def _here(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """In place of another thread: this one waits for nobody else."""
    return function(*args, **kwargs)


def _storage(settings: Settings, identity: access.Access, meters: Meters) -> Storage:
    key = PeerKey(identity.secrets) if settings.advertise_url else None
    layout = host.layout(settings.data_dir, settings.storage_url, key)
    return Storage(
        replace(layout, cached=object_cache.limits(settings)),
        generation=identity.generation,
        limits=ColumnLimits(settings.max_columns, settings.max_new_columns, settings.max_sender_columns),
        flush_seconds=settings.flush_seconds,
        max_queued_bytes=settings.max_inflight_bytes,
        disk_high_water_percent=settings.disk_high_water_percent,
        disk_low_water_percent=settings.disk_low_water_percent,
        on_commit=meters.committed,
        copier=Copier(layout.node, key) if settings.second_copy and key else None,
    )


def _record_wrong_password(writer: Writer, claim: Claim, call: Call) -> None:
    found = target_of_guess(claim)
    if found is not None:
        asked = Asked("POST", call.path, call.id, call.src_ip, call.user_agent)
        write(writer.record, found.tenant, Deed(NOBODY, WRONG_PASSWORD, found.target, 401), asked)


async def serve(components: Components, wait: Wait) -> None:
    """Serve until `wait` says stop, and then end the calls in progress."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="export"))
    settings = components.settings
    most_read = max(1, settings.max_inflight_bytes // settings.max_body_bytes)
    health = grpc_health.HealthServicer()
    listening = grpc.aio.server(options=_options(settings.max_body_bytes))
    listening.add_generic_rpc_handlers((ExportService(components.receiver, components.meters, most_read),))
    health_pb2_grpc.add_HealthServicer_to_server(health, listening)
    _bind(listening, settings)
    await listening.start()
    logger.info("OTLP/gRPC is taken at %s", settings.otlp_grpc_bind)
    watching = asyncio.create_task(_tell_health(health, components.storage))
    await _told_to_stop(wait)
    watching.cancel()
    await health.enter_graceful_shutdown()
    await listening.stop(STOP_SECONDS)


def _options(max_body_bytes: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", max_body_bytes),
        # gRPC would decompress first and look at the size then (receiver.inflated).
        ("grpc.per_message_decompression", 0),
        # A second server at this address has to fail, instead of taking half of the calls.
        ("grpc.so_reuseport", 0),
        # Collectors ask every few seconds whether their connection lives. gRPC would hang up on them.
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        ("grpc.keepalive_permit_without_calls", 1),
        # Of a client that is gone nobody tells: without it its calls would stay.
        ("grpc.keepalive_time_ms", 60_000),
    ]


def _bind(listening: Any, settings: Settings) -> None:
    """Raises RuntimeError where the address is taken."""
    address = str(settings.otlp_grpc_bind)
    if settings.otlp_grpc_certificate is None or settings.otlp_grpc_private_key is None:
        listening.add_insecure_port(address)
        return
    pair = (settings.otlp_grpc_private_key.read_bytes(), settings.otlp_grpc_certificate.read_bytes())
    listening.add_secure_port(address, grpc.ssl_server_credentials([pair]))


async def _tell_health(health: Any, storage: Storage) -> None:
    """As readiness over HTTP does: whether the database answers and segments can be made."""
    while True:
        try:
            await asyncio.to_thread(storage.check_ready)
            status = SERVING
        except WeirError as error:
            logger.warning("OTLP/gRPC is not ready: %s", error)
            status = NOT_SERVING
        for service in ("", *(path.split("/")[1] for path in EXPORTS)):
            await health.set(service, status)
        await asyncio.sleep(HEALTH_SECONDS)


async def _told_to_stop(wait: Wait) -> None:
    """In a thread of its own: it waits by a system call."""
    with ThreadPoolExecutor(1) as waiting:
        while not await asyncio.get_running_loop().run_in_executor(waiting, wait, 1.0):
            pass


def main() -> None:
    """Serve until SIGTERM or SIGINT. Settings come from the environment."""
    settings, wait = start(main.__doc__)
    bind(server.url(settings.database_url, settings.data_dir), max_connections=THREADS + 2)
    # The library's numbers, which take a lock: calls count from several threads.
    shared_counters.share(settings.data_dir / shared_counters.DIRECTORY_NAME, "stock")
    components = build(settings)
    try:
        asyncio.run(serve(components, wait))
    finally:
        components.close()


if __name__ == "__main__":
    main()
