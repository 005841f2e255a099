"""The door: from a content type and a decompressed body to rows."""

from enum import Enum
from typing import Final

from errors import UnsupportedMedia
from ingest.proto.remote_write import EncodedRequest
from ingest.remote_write.catalogue import Catalogue
from ingest.remote_write.plain import decode_version_1, decode_version_2, parsed
from ingest.remote_write.rows import DecodedSamples
from ingest.remote_write.warm import decode_warm

_MEDIA_TYPE: Final = "application/x-protobuf"


class Version(Enum):
    """A version of the protocol, by the name of its message."""

    ONE = "prometheus.WriteRequest"
    TWO = "io.prometheus.write.v2.Request"


def version_of(content_type: str) -> Version:
    """Remote-write 2.0, "Protobuf message": the parameter `proto` names it, without it the message is that of 1.0.

    Raises UnsupportedMedia, at which a sender falls back to the other version.

    >>> version_of("application/x-protobuf;proto=io.prometheus.write.v2.Request")
    <Version.TWO: 'io.prometheus.write.v2.Request'>
    """
    media_type, *parameters = (part.strip() for part in content_type.split(";"))
    if media_type.lower() not in (_MEDIA_TYPE, ""):
        raise UnsupportedMedia(f"{media_type} is not remote write: expected {_MEDIA_TYPE}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "proto":
            return _version_named(value.strip().strip('"'))
    return Version.ONE


def _version_named(message: str) -> Version:
    try:
        return Version(message)
    except ValueError as error:
        known = " or ".join(version.value for version in Version)
        raise UnsupportedMedia(f"remote-write message {message} is unknown: expected {known}") from error


def decode(body: bytes, content_type: str, *, catalogue: Catalogue, max_columns: int = 1000) -> DecodedSamples:
    """One row per sample, one per native histogram; a request of metadata alone has none.

    What cannot be stored is counted in the result. Raises UnsupportedMedia, InvalidBody and, for more than
    `max_columns` label names, TooManyColumns.
    """
    version = version_of(content_type)
    known = decode_known(body, catalogue, max_columns) if version is Version.ONE else None
    return known or decode_plainly(body, version, max_columns)


def decode_known(body: bytes, catalogue: Catalogue, max_columns: int) -> DecodedSamples | None:
    """The rows of a version 1 request, or None if it has more than one sample for each of its series."""
    request = parsed(EncodedRequest, body)
    if request.metadata or not request.timeseries:
        return None
    return decode_warm(request.timeseries, catalogue.generation(), max_columns)


def decode_plainly(body: bytes, version: Version, max_columns: int) -> DecodedSamples:
    """The rows of any request."""
    if version is Version.TWO:
        return decode_version_2(body, max_columns)
    return decode_version_1(body, max_columns)
