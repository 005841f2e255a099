"""The endpoint groups of the service, and the one way to register them."""

from typing import Final

from flask import Flask

from blueprints import (
    alerts,
    apikeys,
    collector,
    console,
    counts,
    dashboard_data,
    dashboards,
    datasets,
    elasticsearch,
    filters,
    health,
    home,
    iceberg,
    ingestion,
    internal,
    metrics,
    oidc,
    openapi,
    prometheus,
    query,
    roles,
    saved_queries,
    senders,
    session,
    tail,
    targets,
    tenants,
    users,
)
from web.services import Services, hold

BLUEPRINTS: Final = (
    internal.blueprint,
    query.blueprint,
    saved_queries.blueprint,
    session.blueprint,
    tail.blueprint,
    counts.blueprint,
    datasets.blueprint,
    senders.blueprint,
    home.blueprint,
    roles.blueprint,
    users.blueprint,
    tenants.blueprint,
    oidc.blueprint,
    dashboards.blueprint,
    dashboard_data.blueprint,
    filters.blueprint,
    alerts.blueprint,
    targets.blueprint,
    metrics.blueprint,
    openapi.blueprint,
    health.about,
    collector.blueprint,
    collector.health,
    iceberg.blueprint,
    iceberg.tokens,
    health.public,
    console.blueprint,
)
# Modules with several blueprints of one kind.
FAMILIES: Final = (ingestion, apikeys, elasticsearch, prometheus)


def register(app: Flask, services: Services) -> None:
    """Serve all endpoint groups with these parts."""
    hold(app, services)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    for family in FAMILIES:
        family.register(app, services)
