"""The plain way from a request to rows: every series by itself. Both versions, every feature."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from google.protobuf.message import DecodeError

from errors import InvalidBody
from ingest.gc_pause import uncollected
from ingest.proto.remote_write import Request, WriteRequest
from ingest.remote_write.rows import DecodedSamples, Rows
from ingest.remote_write.series import METRIC_NAME_LABEL, NO_METADATA, Exemplar, Metadata, Refused, Series, metric_type
from metric_columns import MetricMetadata

# Metadata is kept per family; the series of a family have its name and one of these.
_SERIES_SUFFIXES: Final = ("_bucket", "_count", "_sum", "_total", "_created", "_info")

# Those of a classic histogram or summary; a counter's family has the name of its series in Prometheus' text format.
_FAMILY_SUFFIXES: Final[Mapping[str, Sequence[str]]] = {
    "histogram": ("_bucket", "_count", "_sum"),
    "gaugehistogram": ("_bucket", "_gcount", "_gsum"),
    "summary": ("_count", "_sum"),
}


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
    return rows.finish({name: each.stored for name, each in metadata.items() if name})


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
    if request.timeseries and symbols[:1] != [""]:
        # Reference 0 would be a text, and series that say nothing of their metric would get it as its help and unit.
        raise InvalidBody("the symbol table does not begin with the empty string (remote-write 2.0, Protobuf message)")
    rows, metadata = Rows(max_columns), dict[str, MetricMetadata]()
    for message in request.timeseries:
        try:
            series = _series_of_version_2(message, symbols)
            rows.add(series)
            if series.metadata != NO_METADATA:
                metadata[_family_of(series)] = series.metadata.stored
        except Refused as refusal:
            rows.refuse(refusal, len(message.samples) + len(message.histograms) + len(message.exemplars))
    metadata.pop("", None)
    return rows.finish(metadata)


def _family_of(series: Series) -> str:
    """The name of the metric family, under which Prometheus lists metadata: version 2.0 tells it series by series."""
    name = dict(series.labels).get(METRIC_NAME_LABEL, "")
    suffixes = _FAMILY_SUFFIXES.get(series.metadata.type, ())
    return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), name)


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
    if reference < len(symbols):
        return symbols[reference]
    raise Refused(f"a reference to symbol {reference} of {len(symbols)}")


def parsed(message_class: Any, body: bytes) -> Any:
    """Raises InvalidBody."""
    try:
        return message_class.FromString(body)
    except DecodeError as error:
        raise InvalidBody(f"the body is not a remote-write protobuf message: {error}") from error
