"""Where the metadata of published tables is kept: beside the events' files, in the data directory or the bucket."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from errors import StorageUnavailable
from models.dataset import Dataset
from storage.context import Layout
from storage.durable_files import make_directory, sync_directory
from storage.files.store import delete_object, has_object, put_object
from storage.names import LAKE, UNFINISHED_SUFFIX, directory, require_lake

_MODE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


def base_location(layout: Layout) -> str:
    """The URL below which the paths of the manifest, and of these files, are for other engines."""
    return layout.url.rstrip("/") if layout.url else f"file://{layout.root.resolve()}"


def table_path(target: Dataset) -> str:
    """The directory of the table's metadata. A dataset of the same name that is made later has another one."""
    return f"{LAKE}/{directory(target.tenant)}/{target.id}"


def put(layout: Layout, contents: Mapping[str, bytes]) -> None:
    """Make the files durable. They are never changed, only written again. Raises StorageUnavailable, OSError."""
    if layout.url is not None:
        for path, content in contents.items():
            put_object(layout.url, require_lake(path), content)
        return
    directories = {(layout.root / require_lake(path)).parent for path in contents}
    for each in directories:
        make_directory(each, layout.root)
        _require_plain(each, layout.root)
    for path, content in contents.items():
        _write(layout.root / path, content)
    for each in directories:
        sync_directory(each)


def remove(layout: Layout, paths: Sequence[str]) -> None:
    """Delete the files; one that is gone is no error. Raises StorageUnavailable, OSError."""
    for path in map(require_lake, paths):
        if layout.url is not None:
            delete_object(layout.url, path)
            continue
        _require_plain((layout.root / path).parent, layout.root)
        with suppress(FileNotFoundError):
            (layout.root / path).unlink()


def exists(layout: Layout, path: str) -> bool:
    """Whether the file is there. Raises StorageUnavailable."""
    if layout.url is not None:
        return has_object(layout.url, require_lake(path))
    return (layout.root / require_lake(path)).is_file()


def _write(target: Path, content: bytes) -> None:
    unfinished = target.with_name(f"{target.name}{UNFINISHED_SUFFIX}")
    fd = os.open(unfinished, _MODE, 0o666)
    with open(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(target)


def _require_plain(path: Path, root: Path) -> None:
    """Raises StorageUnavailable where a link would lead out of the data directory."""
    for each in (path, *path.parents):
        if each == root:
            return
        if each.is_symlink():
            raise StorageUnavailable(f"{each} is a link; nothing is done through it")
