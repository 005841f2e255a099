"""Content codings of results, made in the query process: processor time that no worker has to give."""

from typing import Final, Protocol

import cramjam
from isal import isal_zlib

# Fast levels: a result is read once. This one of gzip takes a third to a fifth of zlib's time at its level 1, for no
# more bytes (docs/decisions/query-processes.md).
GZIP_LEVEL: Final = 1
ZSTD_LEVEL: Final = 1
GZIP_WINDOW_BITS: Final = 31


class Compressor(Protocol):
    """Bytes in, bytes out, the rest at the end."""

    def add(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


class _Identity:
    def add(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Gzip:
    """RFC 1952."""

    def __init__(self) -> None:
        self._stream = isal_zlib.compressobj(GZIP_LEVEL, isal_zlib.DEFLATED, GZIP_WINDOW_BITS)

    def add(self, data: bytes) -> bytes:
        return self._stream.compress(data)

    def finish(self) -> bytes:
        return self._stream.flush()


class _Zstd:
    """RFC 8878."""

    def __init__(self) -> None:
        self._stream = cramjam.zstd.Compressor(ZSTD_LEVEL)

    def add(self, data: bytes) -> bytes:
        self._stream.compress(data)
        return bytes(self._stream.flush())

    def finish(self) -> bytes:
        return bytes(self._stream.finish())


CODINGS: Final[dict[str, type[Compressor]]] = {"identity": _Identity, "gzip": _Gzip, "zstd": _Zstd}
# Packing less than this makes it longer.
SMALLEST_BYTES: Final = 1024


class Coded:
    """A result in a coding, unless all of it is too small for that; `coding` then is identity at the end."""

    def __init__(self, coding: str) -> None:
        self.coding = "identity"
        self._wanted = coding
        self._stream: Compressor | None = None
        self._small = b""

    def add(self, data: bytes) -> bytes:
        """The bytes that can be sent now."""
        if self._stream is not None:
            return self._stream.add(data)
        self._small += data
        if len(self._small) < SMALLEST_BYTES:
            return b""
        self._stream, self.coding = CODINGS[self._wanted](), self._wanted
        return self._stream.add(self._small)

    def finish(self) -> bytes:
        """The rest."""
        return self._small if self._stream is None else self._stream.finish()
