"""What the meters of one process count, and who sees it."""

from metrics.exposition import Gauge, text
from metrics.meters import MOST_DATASETS, Meters


def everything(tenant: str | None, dataset: str | None) -> bool:
    return True


def test_request_is_counted_by_method_route_and_status():
    meters = Meters()

    meters.answered("POST", "/api/v1/ingest", 200, 0.002)

    assert b'weir_requests_total{method="POST",route="/api/v1/ingest",status="200"} 1.0' in text(
        meters.registry, [], everything
    )


def test_datasets_beyond_the_limit_are_counted_together():
    meters = Meters()

    for number in range(MOST_DATASETS + 5):
        meters.ingested("default", f"d{number}", 1, 10)

    shown = text(meters.registry, [], everything)
    assert shown.count(b"weir_ingested_events_total{") == MOST_DATASETS + 1
    assert b'weir_ingested_events_total{dataset="other",tenant="other"} 5.0' in shown


def test_samples_that_the_reader_may_not_see_are_left_out():
    meters = Meters()
    meters.ingested("default", "app", 3, 30)
    gauges = [Gauge("dataset_files", "Files.", 2, "default", "app"), Gauge("dataset_files", "Files.", 4, "acme", "web")]

    shown = text(meters.registry, gauges, lambda tenant, dataset: tenant == "acme")

    assert b'weir_dataset_files{dataset="web",tenant="acme"} 4.0' in shown
    assert b"app" not in shown


def test_commit_reports_its_sync_apart():
    meters = Meters()

    meters.committed(7, 0.02, 0.004)

    shown = text(meters.registry, [], everything)
    assert b"weir_committed_requests_total 7.0" in shown
    assert b"weir_commit_duration_seconds_sum 0.02" in shown
    assert b"weir_sync_duration_seconds_sum 0.004" in shown
