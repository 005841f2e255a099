"""Where Parquet files are kept: below the data directory, or as objects of a bucket. The only place that knows which.

Paths are those of the manifest, relative and with `/`. A file is there whole or not at all, and never changes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, Protocol

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from errors import StorageUnavailable
from models.values.file import File
from storage.context import Layout
from storage.durable_files import make_directory, sync_directory
from storage.files.object_cache import Cache
from storage.names import PARQUET_SUFFIX, RESERVED, STORED, UNFINISHED_SUFFIX, require_stored, unique

# A store that does not answer delays conversion; nobody waits for it.
RETRIES: Final = 2
TIMEOUT_SECONDS: Final = 60
# Deletions under way at once.
DELETERS: Final = 8
# What is held in memory of a file that is copied.
PIECE_BYTES: Final = 1024 * 1024


class Store(Protocol):
    def begin(self, path: str) -> Path:
        """A local file to write the content into, before it is published under `path`."""

    def publish(self, unfinished: Path, path: str) -> None:
        """Make the content durable under `path`, and only then visible. Raises StorageUnavailable, OSError."""

    def location(self, path: str) -> str:
        """What Polars opens."""

    def copies(self, files: Sequence[File]) -> Mapping[str, Path]:
        """The local copies that there are of files that are elsewhere, by the files' paths."""

    def remove(self, paths: Sequence[str]) -> None:
        """Delete the objects; an object that is already gone is no error. Raises StorageUnavailable, OSError."""

    def older(self, than: datetime) -> Iterator[list[str]]:
        """Everything stored before that moment, a portion at a time. Raises StorageUnavailable."""

    def read(self, path: str) -> Iterator[bytes]:
        """The content, a piece at a time. Raises FileNotFoundError, StorageUnavailable, OSError."""

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Every Parquet file there is, with its bytes. Raises StorageUnavailable."""

    def tidy(self) -> None:
        """Remove directories in which nothing is left."""


class LocalStore:
    """Files below the data directory. Each verb refuses a path that leads out of it, by its text or by a link."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._plain: set[str] = set()

    def begin(self, path: str) -> Path:
        target = self._at(path)
        make_directory(target.parent, self._root)
        unfinished = target.with_suffix(UNFINISHED_SUFFIX)
        if unfinished.is_symlink():
            raise StorageUnavailable(f"{unfinished} is a link; nothing is written through it")
        return unfinished

    def publish(self, unfinished: Path, path: str) -> None:
        target = self._at(path)
        sync_file(unfinished)
        unfinished.rename(target)
        sync_directory(target.parent)

    def location(self, path: str) -> str:
        target = self._at(path)
        if target.is_symlink():
            raise StorageUnavailable(f"{target} is a link; nothing is read through it")
        return str(target)

    def copies(self, files: Sequence[File]) -> Mapping[str, Path]:
        return {}

    def remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                self._at(path).unlink()

    def older(self, than: datetime) -> Iterator[list[str]]:
        for directory, names in self._directories():
            paths = [directory / name for name in names if name.endswith((PARQUET_SUFFIX, UNFINISHED_SUFFIX))]
            found = [str(path.relative_to(self._root)) for path in paths if _is_older(path, than)]
            yield [path for path in found if STORED.fullmatch(path)]

    def read(self, path: str) -> Iterator[bytes]:
        return pieces(Path(self.location(path)))

    def sizes(self) -> Iterator[tuple[str, int]]:
        for tenant in self._tenants():
            for path in sorted(tenant.rglob(f"*{PARQUET_SUFFIX}")):
                with suppress(FileNotFoundError):
                    yield str(path.relative_to(self._root)), path.stat().st_size

    def tidy(self) -> None:
        for directory, _ in self._directories():
            with suppress(OSError):
                # Only succeeds when nothing is left in it.
                directory.rmdir()

    def _at(self, path: str) -> Path:
        """Where the file is. Raises StorageUnavailable."""
        directory = require_stored(path).rpartition("/")[0]
        if directory not in self._plain:
            self._require_no_link(directory)
            self._plain.add(directory)
        return self._root / path

    def _require_no_link(self, directory: str) -> None:
        below = self._root
        for name in directory.split("/"):
            below /= name
            if below.is_symlink():
                raise StorageUnavailable(f"{below} is a link; nothing is done through it")

    def _directories(self) -> Iterator[tuple[Path, list[str]]]:
        """The directories of Parquet files, deepest first, each with the names of its files."""
        for tenant in self._tenants():
            for directory, _, names in os.walk(tenant, topdown=False):
                if "=" in directory.rpartition("/")[2]:
                    yield Path(directory), names

    def _tenants(self) -> list[Path]:
        return [path for path in sorted(self._root.iterdir()) if path.is_dir() and path.name not in RESERVED]


class ObjectStore:
    """Objects of a bucket, whose names are the paths. Endpoint and credentials: the usual `AWS_*` variables."""

    def __init__(self, url: str, staging: Path, cache: Cache | None = None) -> None:
        self._url = url.rstrip("/")
        self._staging = staging
        self._cache = cache
        self._client = _client(self._url)

    def begin(self, path: str) -> Path:
        require_stored(path)
        return self._staging / (unique() + UNFINISHED_SUFFIX)

    def publish(self, unfinished: Path, path: str) -> None:
        # An upload that failed half-way is no object; only a complete one appears.
        with unfinished.open("rb") as content, _translated(f"storing {path}"):
            obstore.put(self._client, require_stored(path), content)
        if self._cache is None:
            unfinished.unlink()
        else:
            # What was just written is what is asked for most.
            self._cache.keep(unfinished, path)

    def location(self, path: str) -> str:
        return f"{self._url}/{require_stored(path)}"

    def copies(self, files: Sequence[File]) -> Mapping[str, Path]:
        if self._cache is None:
            return {}
        return {each.path: copy for each in files if (copy := self._cache.find(each)) is not None}

    def remove(self, paths: Sequence[str]) -> None:
        # Not one request for many, which some stores do not have.
        with ThreadPoolExecutor(DELETERS) as deleters:
            for _ in deleters.map(self._delete, paths):
                pass
        if self._cache is not None:
            self._cache.drop(paths)

    def _delete(self, path: str) -> None:
        with _translated(f"deleting {path}"), suppress(FileNotFoundError):
            obstore.delete(self._client, require_stored(path))

    def older(self, than: datetime) -> Iterator[list[str]]:
        with _translated("listing"):
            for portion in obstore.list(self._client, chunk_size=1000):
                yield [
                    each["path"]
                    for each in portion
                    if each["path"].endswith(PARQUET_SUFFIX) and each["last_modified"] < than
                ]

    def read(self, path: str) -> Iterator[bytes]:
        return read_object(self._url, require_stored(path))

    def sizes(self) -> Iterator[tuple[str, int]]:
        with _translated("listing"):
            for portion in obstore.list(self._client, chunk_size=1000):
                yield from ((each["path"], each["size"]) for each in portion if each["path"].endswith(PARQUET_SUFFIX))

    def tidy(self) -> None:
        """A bucket has no directories."""


def read_object(url: str, path: str) -> Iterator[bytes]:
    """The content of an object below the URL, a piece at a time. Raises FileNotFoundError, StorageUnavailable."""
    with _translated(f"reading {path}"), suppress(FileNotFoundError):
        yield from map(bytes, obstore.get(_client(url), path).stream(min_chunk_size=PIECE_BYTES))
        return
    raise FileNotFoundError(path)


def read_range(url: str, path: str, start: int, length: int) -> bytes:
    """A part of an object below the URL. Raises StorageUnavailable."""
    with _translated(f"reading a part of {path}"):
        return bytes(obstore.get_range(_client(url), path, start=start, length=length))


def put_object(url: str, path: str, content: bytes) -> None:
    """Store a small object below the URL. Raises StorageUnavailable."""
    with _translated(f"storing {path}"):
        obstore.put(_client(url), path, content)


def delete_object(url: str, path: str) -> None:
    """Delete an object below the URL; one that is gone is no error. Raises StorageUnavailable."""
    with _translated(f"deleting {path}"), suppress(FileNotFoundError):
        obstore.delete(_client(url), path)


def has_object(url: str, path: str) -> bool:
    """Whether there is an object below the URL. Raises StorageUnavailable."""
    with _translated(f"looking for {path}"), suppress(FileNotFoundError):
        obstore.head(_client(url), path)
        return True
    return False


@contextmanager
def _translated(action: str) -> Iterator[None]:
    """Failures of the object store in the block become StorageUnavailable."""
    try:
        yield
    except (BaseError, FileNotFoundError, PermissionError) as error:
        # The first line says what failed; the rest is the answer's body and the client's internals.
        reason = str(error).partition("\n")[0]
        raise StorageUnavailable(f"object store: {action} failed: {reason}") from error


@cache
def _client(url: str) -> S3Store:
    """One client per process and URL, because it keeps its connections."""
    return S3Store.from_url(
        url,
        client_options={"timeout": f"{TIMEOUT_SECONDS}s", "allow_http": allows_http()},
        retry_config={"max_retries": RETRIES},
    )


def allows_http() -> bool:
    """Whether the endpoint was given as plain HTTP, which the clients refuse unless they are told that it is meant."""
    return os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")


def open_store(layout: Layout) -> Store:
    """The store of the layout."""
    if layout.url is None:
        return LocalStore(layout.root)
    return ObjectStore(layout.url, layout.staging, Cache.of(layout))


def pieces(path: Path, size: int | None = None) -> Iterator[bytes]:
    """The first `size` bytes of the file, or all, a piece at a time. Raises OSError."""
    left = size
    with path.open("rb") as content:
        while piece := content.read(PIECE_BYTES if left is None else min(left, PIECE_BYTES)):
            left = None if left is None else left - len(piece)
            yield piece


def sync_file(path: Path) -> None:
    """Make the file's content durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _is_older(path: Path, than: datetime) -> bool:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC) < than
    except FileNotFoundError:
        return False
