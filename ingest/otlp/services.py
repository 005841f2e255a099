"""A request of OTLP as one request for each dataset that its resources name by their `service.name`."""

from typing import Final

from google.protobuf.message import DecodeError

from errors import InvalidBody, InvalidRequest
from ingest.dataset_naming import dataset_named
from ingest.proto.building import message_classes
from ingest.proto.otlp import KeyValue

SERVICE_NAME: Final = "service.name"

# The outline of all three export requests. What the resources are about stays encoded.
_OUTLINES: Final = message_classes(
    "weir.otlp.outline",
    """
message Request {
  repeated bytes groups = 1;
}
message Group {
  Resource resource = 1;
}
message Resource {
  repeated bytes attributes = 1;
}
""",
)


def divide(body: bytes) -> dict[str, bytes]:
    """The request of each dataset. Raises InvalidBody, and InvalidRequest for a resource without a name.

    >>> divide(b"")
    {}
    """
    groups: dict[str, list[bytes]] = {}
    try:
        for encoded in _OUTLINES["Request"].FromString(body).groups:
            groups.setdefault(_dataset_of(encoded), []).append(encoded)
    except DecodeError as error:
        raise InvalidBody(f"the body is not an OTLP protobuf message: {error}") from error
    if len(groups) == 1:
        return dict.fromkeys(groups, body)
    return {name: _OUTLINES["Request"](groups=members).SerializeToString() for name, members in groups.items()}


def _dataset_of(group: bytes) -> str:
    for encoded in _OUTLINES["Group"].FromString(group).resource.attributes:
        # Most attributes are others, and are not worth a message.
        if SERVICE_NAME.encode() in encoded:
            pair = KeyValue.FromString(encoded)
            if pair.key == SERVICE_NAME and pair.value.string_value:
                return dataset_named(pair.value.string_value)
    raise InvalidRequest(
        f"a resource has no attribute {SERVICE_NAME}, which names its dataset; or send the metadata x-p-stream",
        field=SERVICE_NAME,
    )
