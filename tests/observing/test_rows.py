"""The rows that Weir stores of itself."""

from datetime import UTC, datetime

from columns import ColumnType
from metrics.exposition import Sample
from observing import rows

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OWN = ("default", "weir")


def test_line_and_sample_stand_in_one_batch():
    line = {"time": NOON.isoformat(), "level": "error", "message": "no", "process": 7, "request_id": "01J"}
    samples = rows.of_samples([Sample("weir_workers", {}, 2.0)], "h", NOON, OWN)

    made = rows.batch([rows.of_line(line, "h"), *samples])

    columns = {each.name: values.to_list() for each, values in zip(made.fields, made.columns, strict=True)}
    assert columns == {
        "time": [NOON, NOON],
        "kind": ["log", "metric"],
        "host": ["h", "h"],
        "level": ["error", None],
        "message": ["no", None],
        "process": [7, None],
        "request_id": ["01J", None],
        "metric": [None, "weir_workers"],
        "labels": [None, "{}"],
        "value": [None, 2.0],
    }
    assert {each.name: each.type for each in made.fields}["labels"] is ColumnType.JSON


def test_samples_about_the_dataset_itself_and_bounds_of_histograms_are_left_out():
    samples = [
        Sample("weir_dataset_rows", {"tenant": "default", "dataset": "weir"}, 9.0),
        Sample("weir_dataset_rows", {"tenant": "acme", "dataset": "weir"}, 8.0),
        Sample("weir_query_duration_seconds_bucket", {"le": "0.1"}, 7.0),
        Sample("weir_query_duration_seconds_count", {}, 6.0),
    ]

    made = rows.of_samples(samples, "h", NOON, OWN)

    assert [(each["metric"], each["value"]) for each in made] == [
        ("weir_dataset_rows", 8.0),
        ("weir_query_duration_seconds_count", 6.0),
    ]
    assert made[0]["labels"] == '{"dataset":"weir","tenant":"acme"}'


def test_text_that_is_none_is_stored_as_well_as_can_be():
    made = rows.batch([rows.of_line({"time": NOON.isoformat(), "message": "\udcff", "code": 7}, "h")])

    columns = {each.name: values.to_list() for each, values in zip(made.fields, made.columns, strict=True)}
    assert (columns["message"], columns["code"]) == (["?"], ["7"])
