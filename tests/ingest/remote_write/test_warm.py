"""The short way gives what the plain way gives, or stands aside."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errors import TooManyColumns
from ingest.proto.remote_write import EncodedRequest
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.decoding import decode
from ingest.remote_write.plain import decode_version_1
from ingest.remote_write.warm import decode_warm

CONTENT_TYPE = "application/x-protobuf"
NOW_MS = 1_795_000_000_000


def same(one, other) -> bool:
    return (
        one.batch.fields == other.batch.fields
        and one.batch.height == other.batch.height
        and all(
            left.equals(right, null_equal=True)
            for left, right in zip(one.batch.columns, other.batch.columns, strict=True)
        )
        and (one.samples, one.histograms, one.exemplars) == (other.samples, other.histograms, other.exemplars)
        and (one.rejected, one.message) == (other.rejected, other.message)
    )


def warm(body, catalogue, max_columns=1000):
    return decode_warm(EncodedRequest.FromString(body).timeseries, catalogue.generation(), max_columns)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_the_answer_does_not_depend_on_what_is_known(requests, write_request, data):
    """One catalogue for several requests; new, known and forgotten series."""
    catalogue = Catalogue(max_series=data.draw(st.sampled_from((1, 3, 1000))))
    bodies = [write_request(*data.draw(requests)) for _ in range(3)]

    for body in [*bodies, *bodies]:
        assert same(decode(body, CONTENT_TYPE, catalogue=catalogue), decode_version_1(body, 1000))


def test_usual_requests_take_the_short_way(write_request):
    body = write_request(
        {"labels": {"__name__": "up", "job": "a"}, "samples": [(1.5, NOW_MS)]},
        {"labels": {"__name__": "up", "job": "b"}, "samples": [(0.0, NOW_MS)]},
    )

    decoded = warm(body, Catalogue())

    assert decoded is not None
    assert same(decoded, decode_version_1(body, 1000))


@pytest.mark.parametrize(
    "series",
    [
        {"labels": {"__name__": "up"}},
        {"labels": {}, "samples": [(1.0, NOW_MS)]},
        {"labels": {"__name__": "up"}, "samples": [(1.0, NOW_MS), (2.0, NOW_MS)]},
        {"labels": {"__name__": "up"}, "samples": [(1.0, 5)]},
        {"labels": {"__name__": "up"}, "samples": [(1.0, -5)]},
        {"labels": {"__name__": "up"}, "samples": [(0.0, 0)]},
        {"labels": [("a", "b"), ("a", "c")], "samples": [(1.0, NOW_MS)]},
        {"labels": {"__name__": "up"}, "histograms": [{"count_int": 1, "timestamp": NOW_MS}]},
        {"labels": {"__name__": "up"}, "exemplars": [{"value": 1.0, "timestamp": NOW_MS}]},
    ],
)
def test_unusual_series_take_the_plain_way(write_request, series):
    body = write_request({"labels": {"__name__": "up"}, "samples": [(1.0, NOW_MS)]}, series)

    assert warm(body, Catalogue()) is None


def test_a_label_that_ends_like_a_sample_is_not_taken_for_one(write_request):
    """The bytes before a sample are known only if they parse as labels."""
    value = "x" * 3 + "\x12\x10\x09" + "y" * 15
    body = write_request({"labels": {"a": value}})

    assert warm(body, Catalogue()) is None
    assert decode(body, CONTENT_TYPE, catalogue=Catalogue()).batch.height == 0


def test_a_sample_after_a_label_that_looks_like_one_is_found(write_request):
    """The value is left out, and 18 bytes before the end stands what looks like the head of a longer sample."""
    body = write_request({"labels": {"a": "\x12\x10\x09" + "y" * 6}, "samples": [(0.0, NOW_MS)]})

    assert same(decode(body, CONTENT_TYPE, catalogue=Catalogue()), decode_version_1(body, 1000))


def test_labels_of_some_series_are_null_in_others(write_request, rows):
    body = write_request(
        {"labels": {"__name__": "a", "x": "1"}, "samples": [(1.0, NOW_MS)]},
        {"labels": {"y": "2"}, "samples": [(2.0, NOW_MS)]},
    )

    first, second = rows(warm(body, Catalogue()).batch)

    assert (first["metric_name"], first["x"]) == ("a", "1")
    assert second["y"] == "2"
    assert second.keys().isdisjoint({"metric_name", "x"})


def test_labels_of_other_requests_are_no_columns(write_request):
    catalogue = Catalogue()
    warm(write_request({"labels": {"other": "1"}, "samples": [(1.0, NOW_MS)]}), catalogue)

    decoded = warm(write_request({"labels": {"mine": "1"}, "samples": [(1.0, NOW_MS)]}), catalogue)

    assert "other" not in {field.name for field in decoded.batch.fields}


def test_label_names_that_look_like_patterns_are_names(write_request, rows):
    """Polars reads `^...$` and `*` as patterns in some places."""
    body = write_request({"labels": {"*": "1", "^.*$": "2"}, "samples": [(1.0, NOW_MS)]})

    (row,) = rows(warm(body, Catalogue()).batch)

    assert (row["*"], row["^.*$"]) == ("1", "2")


def test_a_full_catalogue_starts_again(write_request):
    catalogue = Catalogue(max_series=2)

    for number in range(5):
        body = write_request({"labels": {"n": str(number)}, "samples": [(1.0, NOW_MS)]})
        assert same(warm(body, catalogue), decode_version_1(body, 1000))

    assert len(catalogue.generation()) <= 2


def test_a_catalogue_is_bounded_in_bytes(write_request):
    catalogue = Catalogue(max_bytes=1000)

    for number in range(5):
        warm(write_request({"labels": {"n": f"{number}" * 400}, "samples": [(1.0, NOW_MS)]}), catalogue)

    assert len(catalogue.generation()) <= 2


def test_many_new_series_join_the_known_ones(write_request):
    """More than are looked at apart, so that the columns are rebuilt."""
    catalogue = Catalogue()

    for first in (0, 200, 400, 600):
        body = write_request(
            *(
                {"labels": {"n": str(n), f"shape{n % 3}": "x"}, "samples": [(1.0, NOW_MS)]}
                for n in range(first, first + 400)
            )
        )
        assert same(warm(body, catalogue), decode_version_1(body, 1000))


def test_threads_may_share_a_catalogue(write_request):
    """Large requests are decoded in a thread pool; each learns while the others read."""
    catalogue = Catalogue()
    bodies = [
        write_request(
            *(
                {"labels": {"n": str(n), f"shape{n % 5}": "x"}, "samples": [(1.0, NOW_MS)]}
                for n in range(first, first + 300)
            )
        )
        for first in range(0, 3000, 100)
    ]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda body: warm(body, catalogue), bodies * 3))

    assert all(same(one, decode_version_1(body, 1000)) for one, body in zip(found, bodies * 3, strict=True))


def test_too_many_label_names_are_refused(write_request):
    body = write_request(*({"labels": {f"l{n}": "x"}, "samples": [(1.0, NOW_MS)]} for n in range(11)))

    with pytest.raises(TooManyColumns, match="11 different label names"):
        warm(body, Catalogue(), max_columns=10)
