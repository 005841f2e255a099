"""Weir's own numbers, shown as Prometheus text, to each caller what is theirs."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from flask import Blueprint, Response

from auth.identity import Identity
from auth.privileges import Action, may, require, sees_all_rows
from config import Settings
from errors import WeirError
from metrics import exposition
from metrics.exposition import Gauge
from metrics.meters import MOST_DATASETS, OTHER, Meters
from models import dataset_sizes, outdated_file
from models.tenant import DEFAULT
from query.service import QueryService
from serving import shared_counters
from storage.context import Layout
from storage.files.disk_watermark import used_percent
from storage.upkeep.backlog import backlog
from storage.write.engine import Storage
from web.authentication import access, protect
from web.caller import caller
from web.services import services

logger = logging.getLogger(__name__)

blueprint = protect(Blueprint("metrics", __name__, url_prefix="/api/v1"))

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def meters() -> Meters:
    """What the current worker reports to."""
    return services().meters


@blueprint.get("/metrics")
def show() -> Response:
    """The counters of all workers of this host, and its gauges.

    For whoever may list datasets. The samples of a dataset are for those who may read all of it; those of the host
    are for the default tenant, which is the only one of most servers, and there for nobody who is narrowed anywhere.
    """
    require(caller(), Action.LIST)
    return Response(exposition.text(meters().registry, _gauges(), _visible), content_type=CONTENT_TYPE)


def _visible(tenant: str | None, dataset: str | None) -> bool:
    identity: Identity = caller()
    if tenant is None or dataset is None:
        return identity.tenant == DEFAULT and sees_all_rows(identity)
    if tenant != identity.tenant:
        return tenant == OTHER and not access().multi_tenant
    return may(identity, Action.READ_METADATA, dataset) and sees_all_rows(identity, dataset)


def _gauges() -> Iterator[Gauge]:
    parts = services()
    return gauges(parts.settings, parts.storage, parts.queries)


def gauges(settings: Settings, storage: Storage, queries: QueryService) -> Iterator[Gauge]:
    """The host's state of now. What cannot be asked is left out: a scrape has to work when the rest does not."""
    layout = storage.layout
    yield Gauge(
        "workers",
        "Processes alive that take events.",
        shared_counters.living(layout.root / shared_counters.DIRECTORY_NAME),
    )
    yield Gauge("disk_used_ratio", "Use of the disk that holds the segments.", used_percent(layout.staging) / 100)
    yield Gauge("queries_in_progress", "Queries that run or wait.", queries.in_progress())
    yield Gauge("query_slots", "Queries that may run at once.", settings.query_concurrency)
    try:
        yield from _stored(layout)
    except WeirError as error:
        logger.warning("metrics: %s", error)


def _stored(layout: Layout) -> Iterator[Gauge]:
    waiting = backlog(layout, datetime.now(UTC))
    yield Gauge("segments_unconverted", "Segments that are not Parquet yet.", waiting.segments)
    yield Gauge("segments_unconverted_bytes", "Their bytes.", waiting.bytes)
    yield Gauge("conversion_lag_seconds", "Age of the oldest of them.", waiting.oldest_seconds)
    outdated = outdated_file.waiting()
    yield Gauge("files_outdated", "Parquet files that maintenance has yet to rewrite.", outdated.files)
    yield Gauge("rewriting_lag_seconds", "For how long a widened column has waited for that.", outdated.seconds)
    for size in dataset_sizes.largest(MOST_DATASETS):
        where = (size.tenant, size.dataset)
        yield Gauge("dataset_files", "Live Parquet files.", size.files, *where)
        yield Gauge("dataset_rows", "Rows in live Parquet files.", size.rows, *where)
        yield Gauge("dataset_bytes", "Bytes of live Parquet files.", size.bytes, *where)
