"""Remote write to rows. Spec 4.2; api.md section 4; the remote-write 1.0 and 2.0 protocols."""

import math
import struct
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from columns import ColumnType, Field
from errors import InvalidBody, TooLarge, TooManyColumns, UnsupportedMedia
from ingest.proto.remote_write import Request
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.decoding import decode
from metric_columns import MetricMetadata

VERSION_1 = "application/x-protobuf"
VERSION_2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
NOW_MS = 1_795_000_000_123
NOW = datetime(2026, 11, 18, 11, 6, 40, 123_000, tzinfo=UTC)
STALE_NAN = struct.unpack("<d", bytes.fromhex("020000000000f07f"))[0]


def version_1(body, **options):
    return decode(body, VERSION_1, catalogue=Catalogue(), **options)


def version_2_of(body):
    return decode(body, VERSION_2, catalogue=Catalogue())


def test_a_sample_is_a_row_with_a_column_per_label(write_request, rows):
    """api.md section 4."""
    decoded = version_1(
        write_request({"labels": {"__name__": "up", "job": "node"}, "samples": [(1.5, NOW_MS), (2.5, NOW_MS + 1)]})
    )

    assert rows(decoded.batch) == [
        {
            "metric_name": "up",
            "metric_type": "unknown",
            "time_unix_nano": time,
            "data_point_value": value,
            "is_stale": False,
            "job": "node",
        }
        for time, value in ((NOW, 1.5), (NOW + timedelta(milliseconds=1), 2.5))
    ]
    assert (decoded.samples, decoded.rejected) == (2, 0)


@pytest.mark.parametrize("count", [1, 2], ids=["short way", "plain way"])
def test_a_stale_marker_is_null_and_marked(write_request, rows, count):
    """Remote-write 1.0, "Stale markers": NaN of the bits 0x7ff0000000000002."""
    decoded = version_1(write_request({"labels": {"__name__": "up"}, "samples": [(STALE_NAN, NOW_MS)] * count}))

    for row in rows(decoded.batch):
        assert row["is_stale"] is True
        assert "data_point_value" not in row


@pytest.mark.parametrize("count", [1, 2], ids=["short way", "plain way"])
def test_another_nan_is_a_value(write_request, rows, count):
    decoded = version_1(write_request({"labels": {"__name__": "up"}, "samples": [(math.nan, NOW_MS)] * count}))

    for row in rows(decoded.batch):
        assert row["is_stale"] is False
        assert math.isnan(row["data_point_value"])


def test_a_request_of_metadata_alone_has_no_rows(write_request):
    """Prometheus sends them every minute; they have to succeed."""
    decoded = version_1(write_request(metadata=({"type": 1, "metric_family_name": "a_total"},)))

    assert (decoded.batch.height, decoded.rejected) == (0, 0)
    assert decoded.metadata == {"a_total": MetricMetadata("counter")}


def test_metadata_is_kept_by_family(write_request):
    """Remote-write 1.0 names the family; what has no name is nobody's."""
    families = (
        {"type": 3, "metric_family_name": "seconds", "help": "Time.", "unit": "s"},
        {"type": 99, "metric_family_name": "odd"},
        {"type": 1},
    )
    decoded = version_1(write_request({"labels": {"a": "b"}, "samples": [(1.0, NOW_MS)]}, metadata=families))

    assert decoded.metadata == {
        "seconds": MetricMetadata("histogram", "Time.", "s"),
        "odd": MetricMetadata("unknown"),
    }


def test_an_empty_request_has_no_rows():
    assert version_1(b"").batch.height == 0


def test_metadata_of_the_same_request_describes_its_series(write_request, rows):
    """Fluent Bit sends both together."""
    decoded = version_1(
        write_request(
            {"labels": {"__name__": "http_requests_total"}, "samples": [(1.0, NOW_MS)]},
            {"labels": {"__name__": "other"}, "samples": [(1.0, NOW_MS)]},
            metadata=({"type": 1, "metric_family_name": "http_requests", "help": "Requests.", "unit": "1"},),
        )
    )

    first, second = rows(decoded.batch)
    assert (first["metric_type"], first["metric_description"], first["metric_unit"]) == ("counter", "Requests.", "1")
    assert second["metric_type"] == "unknown"


def test_labels_with_the_names_of_our_columns_are_prefixed(write_request, rows):
    """And those that are such a name with a prefix, so that each label has a column of its own."""
    decoded = version_1(
        write_request(
            {
                "labels": {"__name__": "up", "is_stale": "a", "label_is_stale": "b", "p_timestamp": "c"},
                "samples": [(1.0, NOW_MS)],
            }
        )
    )

    (row,) = rows(decoded.batch)
    assert row["is_stale"] is False
    assert row["label_is_stale"] == "a"
    assert row["label_label_is_stale"] == "b"
    assert row["label_p_timestamp"] == "c"


def test_an_empty_label_is_no_label(write_request, rows):
    """Prometheus data model: a label of an empty value is the same as none."""
    decoded = version_1(write_request({"labels": {"__name__": "", "a": "", "b": "x"}, "samples": [(1.0, NOW_MS)]}))

    (row,) = rows(decoded.batch)
    assert row["b"] == "x"
    assert row.keys().isdisjoint({"a", "metric_name"})


def test_many_different_label_names_are_refused(write_request):
    body = write_request(*({"labels": {f"l{n}": "x"}, "samples": [(1.0, NOW_MS)] * 2} for n in range(11)))

    with pytest.raises(TooManyColumns, match="11 different label names"):
        version_1(body, max_columns=10)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([], "without labels"),
        ([("", "x")], "without a name"),
        ([("a", "x"), ("a", "y")], "label a occurs twice"),
        ([("a\0", "x")], "a label name with a NUL"),
        ([("a" * 1001, "x")], "longer than 1000 bytes"),
    ],
)
def test_a_series_without_proper_labels_is_refused_and_the_others_kept(write_request, labels, reason):
    """Remote-write 1.0, "Partial writes": the valid ones may be stored, the answer is 400."""
    decoded = version_1(
        write_request(
            {"labels": labels, "samples": [(1.0, NOW_MS)] * 3}, {"labels": {"a": "x"}, "samples": [(1.0, NOW_MS)]}
        )
    )

    assert (decoded.samples, decoded.reasons, decoded.batch.height) == (1, {"invalid_labels": 3}, 1)
    assert reason in decoded.message


@pytest.mark.parametrize("timestamp", [2**63 - 1, -(2**63), 9_223_372_036_855])
def test_a_sample_outside_of_time_is_refused_and_the_others_kept(write_request, timestamp):
    decoded = version_1(write_request({"labels": {"a": "x"}, "samples": [(1.0, timestamp), (2.0, NOW_MS)]}))

    assert (decoded.samples, decoded.reasons, decoded.batch.height) == (1, {"time_out_of_range": 1}, 1)
    assert str(timestamp) in decoded.message


@pytest.mark.parametrize("timestamp", [0, -1, 9_223_372_036_854, -9_223_372_036_854])
def test_every_other_time_is_kept(write_request, timestamp):
    decoded = version_1(write_request({"labels": {"a": "x"}, "samples": [(1.0, timestamp)]}))

    (time,) = [
        c for f, c in zip(decoded.batch.fields, decoded.batch.columns, strict=True) if f.name == "time_unix_nano"
    ]
    assert time.dt.epoch("ns").to_list() == [timestamp * 1_000_000]


def spans(*pairs):
    return [{"offset": offset, "length": length} for offset, length in pairs]


def test_a_native_histogram_has_the_columns_of_an_exponential_one(write_request, rows):
    """Prometheus numbers a bucket by its upper bound, OTLP by its lower: offset 3 is 2 there."""
    histogram = {
        "count_int": 12,
        "sum": 18.5,
        "schema": 1,
        "zero_threshold": 0.001,
        "zero_count_int": 2,
        "positive_spans": spans((3, 2), (1, 1)),
        "positive_deltas": [1, 2, -1],
        "negative_spans": spans((-2, 1)),
        "negative_deltas": [4],
        "reset_hint": 2,
        "timestamp": NOW_MS,
    }

    decoded = version_1(write_request({"labels": {"__name__": "latency"}, "histograms": [histogram]}))

    assert rows(decoded.batch) == [
        {
            "metric_name": "latency",
            "metric_type": "exponential_histogram",
            "time_unix_nano": NOW,
            "is_stale": False,
            "data_point_count": 12,
            "data_point_sum": 18.5,
            "data_point_scale": 1,
            "data_point_zero_count": 2,
            "data_point_zero_threshold": 0.001,
            "positive_offset": 2,
            "positive_bucket_count": [1, 3, 0, 2],
            "negative_offset": -3,
            "negative_bucket_count": [4],
            "data_point_reset_hint": "no",
        }
    ]
    assert (decoded.samples, decoded.histograms) == (0, 1)


def test_a_native_histogram_of_floats_keeps_them(write_request, rows):
    histogram = {
        "count_float": 2.5,
        "zero_count_float": 0.5,
        "positive_spans": spans((1, 2)),
        "positive_counts": [0.5, 1.5],
        "timestamp": NOW_MS,
    }

    (row,) = rows(version_1(write_request({"labels": {"a": "b"}, "histograms": [histogram]})).batch)

    assert (row["data_point_count"], row["data_point_zero_count"]) == (2.5, 0.5)
    assert (row["positive_offset"], row["positive_bucket_count"]) == (0, [0.5, 1.5])


def test_a_native_histogram_of_custom_buckets_has_explicit_bounds(write_request, rows):
    """Schema -53: bucket i ends at custom value i; the last has no end."""
    histogram = {
        "count_int": 5,
        "sum": 1.0,
        "schema": -53,
        "custom_values": [0.1, 0.5, 1.0],
        "positive_spans": spans((1, 1), (1, 1)),
        "positive_deltas": [2, 1],
        "timestamp": NOW_MS,
    }

    (row,) = rows(version_1(write_request({"labels": {"a": "b"}, "histograms": [histogram]})).batch)

    assert row["metric_type"] == "histogram"
    assert row["data_point_explicit_bounds"] == [0.1, 0.5, 1.0]
    assert row["data_point_bucket_counts"] == [0, 2, 0, 3]


def test_a_count_beyond_63_bits_is_kept_as_text(write_request):
    body = write_request({"labels": {"a": "b"}, "histograms": [{"count_int": 2**64 - 1, "timestamp": NOW_MS}]})

    batch = version_1(body).batch

    columns = {field: column.to_list() for field, column in zip(batch.fields, batch.columns, strict=True)}
    assert columns[Field("data_point_count", ColumnType.UTF8, displaced=True)] == ["18446744073709551615"]


def test_a_stale_native_histogram_has_no_values(write_request, rows):
    body = write_request({"labels": {"a": "b"}, "histograms": [{"sum": STALE_NAN, "timestamp": NOW_MS}]})

    (row,) = rows(version_1(body).batch)

    assert row == {"metric_type": "exponential_histogram", "time_unix_nano": NOW, "is_stale": True, "a": "b"}


@pytest.mark.parametrize(
    "parts",
    [
        {"schema": 9},
        {"positive_spans": spans((0, 2)), "positive_deltas": [1]},
        {"positive_spans": spans((0, 4_000_000_000)), "positive_deltas": [1]},
        {"positive_spans": spans((0, 1), (2_000_000_000, 1)), "positive_deltas": [1, 0]},
        {"positive_spans": spans((0, 1), (-1, 1)), "positive_deltas": [1, 0]},
        {"positive_spans": spans((0, 1)), "positive_deltas": [-1]},
        {"positive_spans": spans((0, 2)), "positive_deltas": [2**63 - 1, 1]},
        {"schema": -53, "custom_values": [1.0], "positive_spans": spans((0, 3)), "positive_deltas": [1, 0, 0]},
        {"schema": -53, "custom_values": [1.0], "positive_spans": spans((-1, 1)), "positive_deltas": [1]},
        {"count_float": 1.0, "positive_spans": spans((0, 1)), "positive_counts": [-1.0]},
    ],
    ids=[
        "unknown schema",
        "too few buckets",
        "a span without end",
        "a gap without end",
        "spans that overlap",
        "a negative count",
        "a count beyond 63 bits",
        "a bucket after the last bound",
        "a bucket before the first bound",
        "a negative float count",
    ],
)
def test_a_native_histogram_that_contradicts_itself_is_refused(write_request, parts):
    decoded = version_1(write_request({"labels": {"a": "b"}, "histograms": [{"timestamp": NOW_MS, **parts}]}))

    assert (decoded.histograms, decoded.reasons, decoded.batch.height) == (0, {"invalid_histogram": 1}, 0)
    assert "native histogram" in decoded.message


def test_native_histograms_of_too_many_buckets_are_refused(write_request):
    """Empty buckets between spans cost the sender nothing."""
    wide = {"positive_spans": spans((0, 1), (9_000, 1)), "positive_deltas": [1, 0], "timestamp": NOW_MS}

    with pytest.raises(TooLarge, match="histogram buckets"):
        version_1(write_request({"labels": {"a": "b"}, "histograms": [wide] * 600}))


@pytest.mark.parametrize("count", [1, 2], ids=["short way", "plain way"])
def test_rows_of_mostly_empty_labels_are_refused_before_they_are_made(write_request, count):
    labels = [{"labels": {f"l{n}": "x"}, "samples": [(1.0, NOW_MS)] * count} for n in range(900)]
    many = {"labels": {"a": "b"}, "samples": [(1.0, NOW_MS)] * 25_000}
    body = write_request(*labels, *[many] * (count - 1), *[labels[0]] * 25_000)

    with pytest.raises(TooLarge, match="send fewer"):
        version_1(body)


def exemplar(**labels):
    pairs = [{"name": name, "value": value} for name, value in labels.items()]
    return {"labels": pairs, "value": 0.25, "timestamp": NOW_MS}


EXEMPLAR = {
    "time_unix_nano": "2026-11-18T11:06:40.123000000Z",
    "value": 0.25,
    "trace_id": "abc",
    "span_id": None,
    "attributes": {"user": "u"},
}


def test_exemplars_stand_in_the_last_row_of_their_series(write_request, rows):
    decoded = version_1(
        write_request(
            {
                "labels": {"a": "b"},
                "samples": [(1.0, NOW_MS), (2.0, NOW_MS)],
                "exemplars": [exemplar(trace_id="abc", user="u")],
            }
        )
    )

    first, second = rows(decoded.batch)
    assert "exemplars" not in first
    assert orjson.loads(second["exemplars"]) == [EXEMPLAR]
    assert (decoded.samples, decoded.exemplars) == (2, 1)


def test_a_series_of_exemplars_alone_is_a_row(write_request, rows):
    """Prometheus sends them in series of their own."""
    decoded = version_1(write_request({"labels": {"__name__": "m"}, "exemplars": [exemplar(trace_id="abc", user="u")]}))

    (row,) = rows(decoded.batch)
    assert (row["metric_name"], row["time_unix_nano"], row["is_stale"]) == ("m", NOW, False)
    assert orjson.loads(row["exemplars"]) == [EXEMPLAR]
    assert (decoded.samples, decoded.exemplars) == (0, 1)


def test_version_2_gives_the_rows_of_version_1(version_2, write_request, rows):
    labels = {"__name__": "up", "job": "node"}
    body = version_2.add(labels, samples=[{"value": 1.5, "timestamp": NOW_MS}]).body()

    decoded = version_2_of(body)

    assert rows(decoded.batch) == rows(version_1(write_request({"labels": labels, "samples": [(1.5, NOW_MS)]})).batch)
    assert decoded.samples == 1


def test_version_2_brings_metadata_and_start_times(version_2, rows):
    metadata = {"type": 1, "help_ref": version_2.symbol("Requests."), "unit_ref": version_2.symbol("1")}
    samples = [{"value": 1.0, "timestamp": NOW_MS, "start_timestamp": NOW_MS - 1000}]

    (row,) = rows(version_2_of(version_2.add({"__name__": "a"}, samples=samples, metadata=metadata).body()).batch)

    assert (row["metric_type"], row["metric_description"], row["metric_unit"]) == ("counter", "Requests.", "1")
    assert row["start_time_unix_nano"] == NOW - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("kind", "name", "family"),
    [
        (1, "requests_total", "requests_total"),
        (3, "seconds_bucket", "seconds"),
        (3, "seconds_sum", "seconds"),
        (5, "size_count", "size"),
        (2, "queue_count", "queue_count"),
    ],
)
def test_version_2_tells_metadata_of_families_series_by_series(version_2, kind, name, family):
    metadata = {"type": kind, "help_ref": version_2.symbol("Help."), "unit_ref": 0}
    sample = [{"value": 1.0, "timestamp": NOW_MS}]
    version_2.add({"__name__": name}, samples=sample, metadata=metadata)
    version_2.add({"__name__": "silent"}, samples=sample)

    decoded = version_2_of(version_2.body())

    assert list(decoded.metadata) == [family]
    assert decoded.metadata[family].help == "Help."


@pytest.mark.parametrize("symbols", [["__name__", "up"], []], ids=["other", "none"])
def test_version_2_without_the_empty_symbol_is_refused(symbols):
    """Remote-write 2.0, "Protobuf message": the first of the symbols is the empty string."""
    request = Request(symbols=symbols)
    request.timeseries.add(labels_refs=[0, 1], samples=[{"value": 1.0, "timestamp": NOW_MS}])

    with pytest.raises(InvalidBody, match="begin with the empty string"):
        version_2_of(request.SerializeToString())


def test_version_2_takes_the_older_created_timestamp(version_2, rows):
    body = version_2.add({"a": "b"}, samples=[{"timestamp": NOW_MS}], created_timestamp=NOW_MS - 1000).body()

    (row,) = rows(version_2_of(body).batch)

    assert row["start_time_unix_nano"] == NOW - timedelta(seconds=1)


def test_version_2_takes_histograms_and_exemplars(version_2):
    exemplars = [{"labels_refs": version_2.references({"trace_id": "abc"}), "value": 1.0, "timestamp": NOW_MS}]
    histograms = [{"count_int": 1, "timestamp": NOW_MS, "start_timestamp": NOW_MS}]

    decoded = version_2_of(version_2.add({"a": "b"}, histograms=histograms, exemplars=exemplars).body())

    assert (decoded.samples, decoded.histograms, decoded.exemplars, decoded.batch.height) == (0, 1, 1, 1)


@pytest.mark.parametrize(
    ("references", "reason"), [([1], "odd number"), ([1, 99], "symbol 99"), ([0, 0], "without a name")]
)
def test_version_2_references_that_lead_nowhere_are_refused(version_2, references, reason):
    """Remote-write 2.0: receivers check their range."""
    version_2.add({"a": "b"}, samples=[{"value": 1.0, "timestamp": NOW_MS}])
    version_2.request.timeseries.add(labels_refs=references, samples=[{"value": 1.0, "timestamp": NOW_MS}] * 2)

    decoded = version_2_of(version_2.body())

    assert (decoded.samples, decoded.rejected) == (1, 2)
    assert reason in decoded.message


@pytest.mark.parametrize("content_type", [VERSION_1, VERSION_2])
@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"{}", b"\xff\x06\x00\x00sNaPpY"])
def test_bytes_that_are_not_the_message_are_refused(content_type, body):
    with pytest.raises(InvalidBody, match="remote-write protobuf"):
        decode(body, content_type, catalogue=Catalogue())


def test_a_label_that_is_not_utf8_is_refused(write_request):
    body = write_request({"labels": {"a": "xyz"}, "samples": [(1.0, NOW_MS)]}).replace(b"xyz", b"x\xffz")

    with pytest.raises(InvalidBody):
        version_1(body)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/x-protobuf;proto=io.prometheus.write.v3.Request",
        "text/plain;proto=prometheus.WriteRequest",
    ],
)
def test_an_unknown_message_is_not_supported(content_type):
    """Remote-write 2.0: 415, so that the sender falls back."""
    with pytest.raises(UnsupportedMedia):
        decode(b"", content_type, catalogue=Catalogue())


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/x-protobuf",
        "Application/X-Protobuf; charset=utf-8",
        "application/x-protobuf;proto=prometheus.WriteRequest",
        'application/x-protobuf; proto="prometheus.WriteRequest"',
    ],
)
def test_version_1_goes_by_many_names(content_type, write_request):
    body = write_request({"labels": {"a": "b"}, "samples": [(1.0, NOW_MS)]})

    assert decode(body, content_type, catalogue=Catalogue()).samples == 1
