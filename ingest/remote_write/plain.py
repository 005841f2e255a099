"""The plain way from a request to rows: every series by itself. Both versions, every feature."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from google.protobuf.message import DecodeError

from errors import InvalidBody
from ingest.gc_pause import uncollected
from ingest.proto.remote_write import Request, WriteRequest
from ingest.remote_write.rows import DecodedSamples, Rows
from ingest.remote_write.series import METRIC_NAME_LABEL, NO_METADATA, Exemplar, Metadata, Refused, Series, metric_type

# Metadata is kept per family; the series of a family have its name and one of these.
_SERIES_SUFFIXES: Final = ("_bucket", "_count", "_sum", "_total", "_created", "_info")


@uncollected
def decode_version_1(body: bytes, max_columns: int) -> DecodedSamples:
    """The rows of a `prometheus.WriteRequest`. Raises InvalidBody, TooManyColumns."""
    request = parsed(WriteRequest, body)
    metadata = {
        family.metric_family_name: Metadata(metric_type(family.type), family.help or None, family.unit or None)
        for family in request.metadata
    }
    rows = Rows(max_columns)
    for series in request.timeseries:
        rows.add(_series_of_version_1(series, metadata))
    return rows.finish()


def _series_of_version_1(series: Any, metadata: Mapping[str, Metadata]) -> Series:
    labels = _pairs(series.labels)
    exemplars = [Exemplar(_pairs(each.labels), each.value, each.timestamp) for each in series.exemplars]
    found = _family(dict(labels).get(METRIC_NAME_LABEL, ""), metadata) if metadata else NO_METADATA
    return Series(labels, series.samples, series.histograms, exemplars, found)


def _pairs(labels: Any) -> list[tuple[str, str]]:
    return [(label.name, label.value) for label in labels]


def _family(name: str, metadata: Mapping[str, Metadata]) -> Metadata:
    for suffix in ("", *_SERIES_SUFFIXES):
        if name.endswith(suffix) and name.removesuffix(suffix) in metadata:
            return metadata[name.removesuffix(suffix)]
    return NO_METADATA


@uncollected
def decode_version_2(body: bytes, max_columns: int) -> DecodedSamples:
    """The rows of an `io.prometheus.write.v2.Request`. Raises InvalidBody, TooManyColumns."""
    request = parsed(Request, body)
    symbols = list(request.symbols)
    rows = Rows(max_columns)
    for series in request.timeseries:
        try:
            rows.add(_series_of_version_2(series, symbols))
        except Refused as refusal:
            rows.refuse(refusal, len(series.samples) + len(series.histograms) + len(series.exemplars))
    return rows.finish()


def _series_of_version_2(series: Any, symbols: Sequence[str]) -> Series:
    metadata = Metadata(
        metric_type(series.metadata.type),
        _symbol(series.metadata.help_ref, symbols) or None,
        _symbol(series.metadata.unit_ref, symbols) or None,
    )
    exemplars = [
        Exemplar(_referenced(each.labels_refs, symbols), each.value, each.timestamp) for each in series.exemplars
    ]
    labels = _referenced(series.labels_refs, symbols)
    return Series(labels, series.samples, series.histograms, exemplars, metadata, series.created_timestamp)


def _referenced(references: Sequence[int], symbols: Sequence[str]) -> list[tuple[str, str]]:
    if len(references) % 2:
        raise Refused("an odd number of label references")
    texts: Iterator[str] = (_symbol(reference, symbols) for reference in references)
    return list(zip(texts, texts, strict=True))


def _symbol(reference: int, symbols: Sequence[str]) -> str:
    """Reference 0 is the empty string, even where a sender leaves the table empty."""
    if reference < len(symbols):
        return symbols[reference]
    if reference == 0:
        return ""
    raise Refused(f"a reference to symbol {reference} of {len(symbols)}")


def parsed(message_class: Any, body: bytes) -> Any:
    """Raises InvalidBody."""
    try:
        return message_class.FromString(body)
    except DecodeError as error:
        raise InvalidBody(f"the body is not a remote-write protobuf message: {error}") from error
