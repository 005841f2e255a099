"""The messages between the service and a query process over their socket, and their framing.

To the process go pickled requests. Back come only bytes and JSON: whatever a hostile query does to its process, the
service never unpickles anything from it.
"""

import json
import pickle
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import errors
from errors import InternalError, WeirError

HEADER: Final = struct.Struct("<IB")
# Frames longer than these are none of ours. A request holds the names of all files that it reads. What comes back is
# held by a web worker, so the sender cuts data into pieces far below it.
LARGEST_REQUEST_BYTES: Final = 256 * 1024 * 1024
LARGEST_REPLY_BYTES: Final = 4 * 1024 * 1024
# Data goes in frames of this size: fewer system calls than rows, and no more in memory than this.
DATA_BYTES: Final = 256 * 1024
# An error may quote a value of any size.
LONGEST_TEXT: Final = 2_000

Answer = dict[str, Any]


class Kind(IntEnum):
    REQUEST = 1  # pickled, to the process
    DATA = 2  # bytes of the result, in order
    ANSWER = 3  # JSON object: the request is done
    FAULT = 4  # JSON object: the request failed with this error
    NOTE = 5  # JSON object: something about the result, ahead of its data


@dataclass(frozen=True, slots=True)
class Become:
    """Do something else from now on: the module's `serve`, with the socket and this content, until the owner is gone.

    A process that is warm is there at once; a new one takes seconds on a busy machine.
    """

    module: str
    content: object


class ConnectionLost(Exception):
    """The other side is gone, or sends what is no frame."""


def send(connection: socket.socket, *frames: bytes) -> None:
    """Send what `frame` made. Raises ConnectionLost."""
    try:
        connection.sendall(b"".join(frames))
    except OSError as error:
        raise ConnectionLost(str(error)) from error


def frame(kind: Kind, payload: bytes) -> bytes:
    return HEADER.pack(len(payload), kind) + payload


def receive(connection: socket.socket, largest: int = LARGEST_REPLY_BYTES) -> tuple[Kind, bytes]:
    """The next frame, of no more than `largest` bytes. Raises ConnectionLost."""
    try:
        length, kind = HEADER.unpack(_receive_exactly(connection, HEADER.size))
        if length > largest:
            raise ConnectionLost(f"a frame of {length} bytes")
        return Kind(kind), bytes(_receive_exactly(connection, length))
    except (OSError, ValueError) as error:
        raise ConnectionLost(str(error)) from error


def _receive_exactly(connection: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            raise ConnectionLost("the stream ended")
        view = view[count:]
    return data


def request(content: object) -> bytes:
    """The frame of a request."""
    return frame(Kind.REQUEST, pickle.dumps(content, pickle.HIGHEST_PROTOCOL))


def data(content: bytes | bytearray) -> Iterator[bytes]:
    """The frames of some of the result, none of them large, whatever the size of one cell."""
    with memoryview(content) as view:
        for start in range(0, len(view), DATA_BYTES):
            yield frame(Kind.DATA, bytes(view[start : start + DATA_BYTES]))


def note(content: Answer) -> bytes:
    """The frame of something to know about a result before it ends."""
    return frame(Kind.NOTE, json.dumps(content).encode())


def answer(content: Answer) -> bytes:
    """The frame that ends a request."""
    return frame(Kind.ANSWER, json.dumps(content).encode())


def unpack(payload: bytes) -> object:
    """Only for a query process, which trusts the service that owns it."""
    return pickle.loads(payload)


def fault(error: WeirError) -> bytes:
    """The frame of an error."""
    return frame(Kind.FAULT, fault_content(error))


def fault_content(error: WeirError) -> bytes:
    """An error as JSON. A class that errors.py does not know travels as its nearest ancestor there."""
    ancestor = next(kind for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
    details = {name: _truncate(value) if isinstance(value, str) else value for name, value in error.details.items()}
    content = {"class": ancestor.__name__, "message": _truncate(error.message), "details": details}
    return json.dumps(content).encode()


def _truncate(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def to_error(payload: bytes) -> WeirError:
    """The error behind `fault`'s JSON."""
    content = json.loads(payload)
    error_class = getattr(errors, content["class"], None)
    if not (isinstance(error_class, type) and issubclass(error_class, WeirError)):
        return InternalError("a query process raised an unknown error")
    return error_class(content["message"], **content["details"])
