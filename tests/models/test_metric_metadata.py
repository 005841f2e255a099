"""The table of what senders say of metrics."""

import pytest

from metric_columns import MetricMetadata
from models import dataset, metric_metadata
from models.dataset import Dataset

UP = MetricMetadata("gauge", "Is it up?", "")


@pytest.fixture
def prom(database: None) -> Dataset:
    return dataset.create("default", "prom", telemetry_type="metrics")


def test_the_latest_counts(prom: Dataset) -> None:
    metric_metadata.record(prom.id, {"up": MetricMetadata("unknown"), "b": UP})
    metric_metadata.record(prom.id, {"up": UP})

    assert metric_metadata.find(prom.id) == {"b": UP, "up": UP}
    assert metric_metadata.find(prom.id, "up") == {"up": UP}
    assert metric_metadata.find(prom.id, most=1) == {"b": UP}


def test_a_dataset_that_is_gone_has_none_and_takes_none(prom: Dataset) -> None:
    metric_metadata.record(prom.id, {"up": UP})
    dataset.delete("default", "prom")

    metric_metadata.record(prom.id, {"up": UP})

    assert metric_metadata.find(prom.id) == {}


def test_texts_that_the_database_cannot_hold_are_cut(prom: Dataset) -> None:
    metric_metadata.record(prom.id, {"a\0": UP, "b" * 501: UP, "c": MetricMetadata("gauge", "x\0" + "y" * 5000, "\0s")})

    ((name, found),) = metric_metadata.find(prom.id).items()
    assert (name, found.unit) == ("c", "s")
    assert found.help == "x" + "y" * 4094


def test_more_metrics_than_anybody_has_are_not_kept(prom: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_metadata, "MOST_METRICS", 2)

    metric_metadata.record(prom.id, {"a": UP, "b": UP})
    metric_metadata.record(prom.id, {"c": UP})

    assert metric_metadata.find(prom.id).keys() == {"a", "b"}
