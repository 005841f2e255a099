"""The application: the only place where the parts of Weir are built and joined."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

import preflight
from alerting.addresses import Policy
from auth import access
from auth.access import Access, AccessOptions
from auth.passwords import Passwords
from auth.peers import PeerKey
from blueprints.metrics import gauges
from blueprints.registry import register
from config import Settings
from embedded_postgres import server
from metrics.exposition import samples
from metrics.meters import Meters
from models import base
from models import host as hosts
from models.column import Limits
from models.dataset import DEFAULT_TENANT
from observing import rows
from observing.recorder import Recorder, SelfIngestTarget
from openapi.document import Description
from pgwire.listener import Listener
from processes.supervise import keep_running
from query.service import QueryService
from query.tail.service import Options as TailOptions
from query.tail.service import TailService
from runtime import Pool, log_failures, offload, repeat
from serving.flask_app import per_request
from serving.flask_app.application import APPLICATIONS
from storage.cluster import host
from storage.cluster.copying import Copier
from storage.files import object_cache
from storage.write.engine import Storage
from web import console_files, errors
from web.audit import record_wrong_password
from web.bodies import Bodies
from web.credentials import Credentials
from web.ingestion.pipeline import Pipeline
from web.ingestion.protocols import protocols
from web.ingestion.writer import Writer
from web.services import Services, services_of

POSTGRESQL: Final = "pgwire"
# How long the host's other processes wait for a query process that does not come up.
WARM_SECONDS = 5.0


def create_app(settings: Settings) -> Flask:
    """The WSGI application with all its parts. Starts nothing and touches no database; `start` does."""
    base.bind(server.url(settings.database_url, settings.data_dir))
    return join(build(settings, access.build(AccessOptions.of(settings), Passwords(offload))))


def build(settings: Settings, identity: Access) -> Services:
    """The parts of one worker."""
    meters, key = Meters(), PeerKey(identity.secrets) if settings.advertise_url else None
    storage, queries = _storage(settings, identity, meters, key), QueryService(settings, on_wait=meters.waited)
    bodies, writer = Bodies.of(settings), Writer(storage)
    return Services(
        settings=settings,
        access=identity,
        credentials=_credentials(identity),
        audit=writer.record,
        peer_key=key,
        target_policy=Policy.of(settings.alert_allowed_hosts),
        storage=storage,
        meters=meters,
        bodies=bodies,
        pipeline=Pipeline(protocols(), bodies, writer, meters, settings.max_columns),
        queries=queries,
        tails=_tail_service(settings, identity, storage, queries),
        recorder=_recorder(settings, writer, meters, queries),
        description=Description(),
        console=console_files.read(),
    )


def join(services: Services) -> Flask:
    """The application of these parts."""
    app = APPLICATIONS[services.settings.http_stack]("weir", static_folder=None)
    if trusted := services.settings.trusted_proxies:
        # Flask's own way to add middleware, which mypy takes for replacing a method.
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=trusted, x_proto=trusted)  # type: ignore[method-assign]
    per_request.install(app, services.meters, services.settings.self_dataset)
    errors.install(app)
    register(app, services)
    return app


def start(app: Flask) -> None:
    """What a worker does besides answering: it keeps query processes warm, and watches the host's other processes."""
    services = services_of(app)
    log_failures()
    services.queries.start()
    node, url = services.storage.layout.node, services.settings.advertise_url
    repeat(hosts.BEAT_SECONDS, lambda: hosts.beat(node, url))
    recorder = services.recorder
    if recorder:
        recorder.start()
    if preflight.PG_LISTENER in os.environ:
        app.extensions[POSTGRESQL] = listener = Listener(services)
        listener.start(int(os.environ[preflight.PG_LISTENER]))
    for name, module in _processes(services.settings):
        command = [sys.executable, "-m", "processes.run", module, "--parent", str(os.getpid())]
        keep_running(
            name,
            services.settings.data_dir / f"{name}.lock",
            command,
            on_packet=recorder.on_packet if recorder else None,
            # The cores belong to the first answer until it can be given (docs/decisions/operations.md).
            after=partial(services.queries.wait_until_warm, WARM_SECONDS),
        )


def _processes(settings: Settings) -> Iterator[tuple[str, str]]:
    """The processes of which a host has one: name and module."""
    yield "maintenance", "storage.upkeep.maintenance"
    yield "alerting", "alerting.process"
    if settings.otlp_grpc_bind:
        yield "otlp_grpc", "otlp_grpc.process"


def stop(app: Flask) -> None:
    """End the worker's queries; write what is queued and seal its segment."""
    services = services_of(app)
    if POSTGRESQL in app.extensions:
        app.extensions[POSTGRESQL].close()
    services.queries.close()
    services.tails.close()
    services.access.last_use.close()
    if services.recorder:
        services.recorder.close()
    services.pipeline.close()
    services.storage.close()


def _tail_service(settings: Settings, identity: Access, storage: Storage, queries: QueryService) -> TailService:
    grace_seconds = settings.query_timeout_seconds + object_cache.GRACE_MARGIN_SECONDS
    key = identity.secrets.derive("tail positions")
    options = TailOptions(storage.layout, key, grace_seconds, settings.query_memory_bytes)
    return TailService(options, queries.give_away_process)


def _credentials(identity: Access) -> Credentials:
    """The validators over `identity`; wrong passwords are recorded."""
    bearer = None if identity.bearer_tokens is None else identity.bearer_tokens.identify
    return Credentials(identity.verifier, bearer, record_wrong_password)


def _storage(settings: Settings, identity: Access, meters: Meters, key: PeerKey | None) -> Storage:
    layout = host.layout(settings.data_dir, settings.storage_url, key)
    return Storage(
        replace(layout, cached=object_cache.limits(settings)),
        generation=identity.generation,
        # Acknowledgements must not queue behind decoding, so commits have a thread of their own.
        offload=Pool(1).run,
        limits=Limits(settings.max_columns, settings.max_new_columns, settings.max_sender_columns),
        flush_seconds=settings.flush_seconds,
        max_queued_bytes=settings.max_inflight_bytes,
        disk_high_water_percent=settings.disk_high_water_percent,
        disk_low_water_percent=settings.disk_low_water_percent,
        on_commit=meters.committed,
        copier=Copier(layout.node, key) if settings.second_copy and key else None,
    )


def _recorder(settings: Settings, writer: Writer, meters: Meters, queries: QueryService) -> Recorder | None:
    """What stores Weir's own events, if they are to be."""
    name = settings.self_dataset
    if not name:
        return None
    return Recorder(
        SelfIngestTarget((DEFAULT_TENANT, name), settings.self_seconds),
        store=partial(writer.store_own, name, rows.COLUMNS),
        sample=lambda: samples(meters.registry, gauges(settings, writer.storage, queries)),
        count=meters.observed,
        lock=settings.data_dir / "observing.lock",
    )
