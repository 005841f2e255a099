"""The application: the only place where the parts of Weir are built and joined."""

import os
import sys
from dataclasses import replace
from functools import partial
from typing import Final

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from auth import access
from auth.passwords import Passwords
from auth.peers import PeerKey
from auth.provider import ProviderOptions
from blueprints import (
    alerts,
    apikeys,
    counts,
    dashboard_data,
    dashboards,
    datasets,
    filters,
    health,
    home,
    ingestion,
    internal,
    metrics,
    oidc,
    openapi,
    otlp,
    query,
    remote_write,
    roles,
    targets,
    tenants,
    users,
)
from config import InvalidSetting, Settings
from embedded_postgres import server
from errors import InvalidName
from metrics.exposition import samples
from metrics.meters import Meters
from models import base
from models import host as hosts
from models.dataset import DEFAULT_TENANT
from models.shared_generation import Generation
from observing import rows
from observing.recorder import Recorder, SelfIngestTarget
from query.service import QueryService
from runtime import Pool, keep_running, offload, repeat
from serving.flask_app import application
from storage.cluster import host
from storage.files import object_cache
from storage.write.engine import Storage
from web import audit, authentication, errors
from web.batcher import Gathering
from web.bodies import Bodies
from web.ingest_headers import checked_dataset_name
from web.reception import Reception
from web.services import EXTENSION, Services

RECORDER: Final = "weir.recorder"
BLUEPRINTS: Final = (
    ingestion.blueprint,
    internal.blueprint,
    query.blueprint,
    counts.blueprint,
    otlp.blueprint,
    remote_write.blueprint,
    datasets.blueprint,
    home.blueprint,
    roles.blueprint,
    users.blueprint,
    oidc.blueprint,
    dashboards.blueprint,
    dashboard_data.blueprint,
    filters.blueprint,
    alerts.blueprint,
    metrics.blueprint,
    openapi.blueprint,
    health.about,
    health.public,
)


def create_app(settings: Settings) -> Flask:
    """The WSGI application with all its parts. Starts nothing and touches no database; `start` does."""
    base.bind(server.url(settings.database_url, settings.data_dir))
    app = application.Application("weir", static_folder=None)
    if trusted := settings.trusted_proxies:
        # Flask's own way to add middleware, which mypy takes for replacing a method.
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=trusted, x_proto=trusted)  # type: ignore[method-assign]
    built = access.build(_access_options(settings), Passwords(offload))
    key = PeerKey(built.secrets) if settings.advertise_url else None
    parts = app.extensions[EXTENSION] = _parts(settings, built.generation, key)
    application.install(app, parts.reception.meters, _self_dataset(settings))
    errors.install(app)
    authentication.install(app, built)
    internal.install(app, key)
    audit.install(app, parts.reception.store)
    apikeys.register(app)
    tenants.register(app, parts.storage.delete)
    targets.register(app, settings)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    return app


def start(app: Flask) -> None:
    """What a worker does besides answering: it keeps query processes warm, and watches the host's other processes."""
    parts: Services = app.extensions[EXTENSION]
    parts.queries.start()
    node, url = parts.storage.layout.node, parts.settings.advertise_url
    repeat(hosts.BEAT_SECONDS, lambda: hosts.beat(node, url))
    recorder = app.extensions[RECORDER] = _recorder(parts)
    if recorder:
        recorder.start()
    for name, module in (("maintenance", "storage.upkeep.maintenance"), ("alerting", "alerting.process")):
        command = [sys.executable, "-m", module, "--parent", str(os.getpid())]
        keep_running(name, parts.settings.data_dir / f"{name}.lock", command, recorder.hear if recorder else None)


def stop(app: Flask) -> None:
    """End the worker's queries; write what is queued and seal its segment."""
    parts: Services = app.extensions[EXTENSION]
    parts.queries.close()
    app.extensions[authentication.EXTENSION].last_use.close()
    if recorder := app.extensions.get(RECORDER):
        recorder.close()
    parts.storage.close()


def _parts(settings: Settings, generation: Generation, key: PeerKey | None) -> Services:
    meters = Meters()
    storage = Storage(
        replace(host.layout(settings.data_dir, settings.storage_url, key), cached=object_cache.limits(settings)),
        generation=generation,
        # Acknowledgements must not queue behind decoding, so commits have a thread of their own.
        offload=Pool(1).run,
        max_columns=settings.max_columns,
        flush_seconds=settings.flush_seconds,
        max_queued_bytes=settings.max_inflight_bytes,
        disk_high_water_percent=settings.disk_high_water_percent,
        disk_low_water_percent=settings.disk_low_water_percent,
        on_commit=meters.committed,
    )
    return Services(
        settings,
        storage,
        bodies=Bodies.of(settings),
        reception=Reception(storage, meters),
        gathering=Gathering(storage, settings.max_columns),
        queries=QueryService(settings, on_wait=meters.waited),
    )


def _recorder(parts: Services) -> Recorder | None:
    """What stores Weir's own events, if they are to be."""
    settings, meters = parts.settings, parts.reception.meters
    name = _self_dataset(settings)
    if name is None:
        return None
    return Recorder(
        SelfIngestTarget((DEFAULT_TENANT, name), settings.self_seconds),
        store=partial(parts.reception.store_own, name, rows.COLUMNS),
        sample=lambda: samples(meters.registry, metrics.gauges(parts)),
        count=meters.observed,
        lock=settings.data_dir / "observing.lock",
    )


def _self_dataset(settings: Settings) -> str | None:
    """Raises InvalidSetting for what no dataset can be called."""
    try:
        return settings.self_dataset and checked_dataset_name(settings.self_dataset)
    except InvalidName as error:
        raise InvalidSetting(f"WEIR_SELF_DATASET: {error.message}") from error


def _access_options(settings: Settings) -> access.AccessOptions:
    return access.AccessOptions(
        data_dir=settings.data_dir,
        secret_key=settings.secret_key,
        multi_tenant=settings.multi_tenant,
        one_host=settings.advertise_url is None,
        provider=_provider(settings),
        public_url=settings.public_url,
    )


def _provider(settings: Settings) -> ProviderOptions | None:
    if settings.oidc_issuer is None:
        return None
    if settings.oidc_client_id is None:
        raise InvalidSetting("WEIR_OIDC_ISSUER is set, and WEIR_OIDC_CLIENT_ID is not")
    return ProviderOptions(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        groups_claim=settings.oidc_groups_claim,
        tenant_claim=settings.oidc_tenant_claim if settings.multi_tenant else None,
    )
