"""No verb of a store leads out of it: a database that somebody has forged names no other files."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errors import StorageUnavailable
from models.file import File
from storage.context import CacheLimits
from storage.files.object_cache import Cache
from storage.files.store import LocalStore, ObjectStore, Store

GOOD = "default/app/date=2026-01-01/hour=00/01K.parquet"
STRANGE = [
    *("../victim.parquet", "a/../../victim.parquet", "victim.parquet", "victim.txt", "secret.key", "a/./x.parquet"),
    *("postgres/x.parquet", "queries/x.parquet", "a//x.parquet", "a/x.parquet\n", "a/\0.parquet", "a/.parquet", ""),
]
VERBS: dict[str, Callable[[Store, str], object]] = {
    "begin": lambda store, path: store.begin(path),
    "publish": lambda store, path: store.publish(Path("/nowhere"), path),
    "location": lambda store, path: store.location(path),
    "read": lambda store, path: list(store.read(path)),
    "remove": lambda store, path: store.remove([path]),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("path", [*STRANGE, "/etc/victim.parquet"])
def test_no_verb_takes_a_path_that_is_not_of_its_files(tmp_path: Path, verb: Callable[[Store, str], object], path: str):
    victim = tmp_path / "victim.parquet"
    victim.write_text("mine")
    root = tmp_path / "data"
    root.mkdir()

    with pytest.raises(StorageUnavailable, match="none of a Parquet file"):
        verb(LocalStore(root), path)

    assert victim.read_text() == "mine"
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("verb", [VERBS["begin"], VERBS["location"], VERBS["read"]], ids=["begin", "location", "read"])
@pytest.mark.parametrize("path", STRANGE)
def test_no_object_is_asked_for_by_another_path(tmp_path: Path, verb: Callable[[Store, str], object], path: str):
    with pytest.raises(StorageUnavailable, match="none of a Parquet file"):
        verb(ObjectStore("s3://bucket", tmp_path), path)


@pytest.mark.parametrize("path", STRANGE)
def test_no_copy_is_looked_for_by_another_path(tmp_path: Path, path: str):
    cache = Cache(tmp_path, CacheLimits(1))

    with pytest.raises(StorageUnavailable):
        cache.find(File(path, 1, 0, 0, 1, 1))
    with pytest.raises(StorageUnavailable):
        cache.drop([path])


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_no_verb_goes_through_a_link_to_a_directory(tmp_path: Path, verb: Callable[[Store, str], object]):
    root, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    victim = elsewhere / GOOD.removeprefix("default/")
    victim.parent.mkdir(parents=True)
    victim.write_text("mine")
    root.mkdir()
    (root / "default").symlink_to(elsewhere)

    with pytest.raises(StorageUnavailable, match="is a link"):
        verb(LocalStore(root), GOOD)

    assert victim.read_text() == "mine"


def test_what_a_file_is_a_link_to_is_neither_read_nor_written(tmp_path: Path):
    target = tmp_path / "target"
    target.write_text("mine")
    store = LocalStore(tmp_path)
    file = tmp_path / GOOD
    file.parent.mkdir(parents=True)
    for name in (file, file.with_suffix(".new")):
        name.symlink_to(target)

    for verb in (VERBS["begin"], VERBS["location"], VERBS["read"]):
        with pytest.raises(StorageUnavailable, match="is a link"):
            verb(store, GOOD)
    store.remove([GOOD])

    assert target.read_text() == "mine"
    assert not file.is_symlink()


def test_what_is_listed_can_be_removed(tmp_path: Path):
    """The sweep removes what it finds: what others have put there is not ours to remove."""
    store = LocalStore(tmp_path)
    for path in (GOOD, "default/app/date=2026-01-01/hour=00/ours.new", "default/app/date=2026-01-01/not ours.parquet"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()

    found = [path for portion in store.older(datetime.now(UTC) + timedelta(days=1)) for path in portion]

    store.remove(found)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["not ours.parquet"]
