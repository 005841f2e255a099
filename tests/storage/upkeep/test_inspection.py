"""`weirctl check` and `repair`, over files and over a bucket: what is wrong is named, and nothing else."""

import os
from pathlib import Path
from typing import Any

import pytest

from errors import StorageUnavailable
from models import dataset_sizes
from models.segment import converted
from storage.files import store
from storage.files.store import ObjectStore, open_store
from storage.upkeep.inspection import Trouble, inspect
from storage.wal.records import HEADER_BYTES
from storage.wal.segments import list_segments
from tests.running import free_port
from tests.storage.workbench import Bench
from tests.weirctl.test_commands import rows, weirctl


@pytest.fixture(params=["files", "bucket"])
def stored(request: pytest.FixtureRequest, tmp_path: Path, database: None) -> Bench:
    """Three files of two events, and a segment that waits."""
    made = Bench(tmp_path, request.getfixturevalue("bucket") if request.param == "bucket" else None)
    for number in range(3):
        made.append(n=[number, number])
        made.convert()
    made.append(n=[3])
    made.seal()
    return made


def put(bench: Bench, path: str, content: bytes) -> None:
    """Behind the manifest's back."""
    target = open_store(bench.layout)
    draft = target.begin(path)
    draft.write_bytes(content)
    target.publish(draft, path)


def found(bench: Bench) -> list[tuple[Trouble, str, str]]:
    return [(each.trouble, each.path, each.detail) for each in inspect(bench.layout)]


def test_nothing_is_found_where_nothing_is_wrong(stored: Bench):
    assert found(stored) == []


def test_missing_orphaned_and_damaged_files_are_found(stored: Bench):
    missing, short, other = [entry.path for entry in dataset_sizes.live()]
    kept = open_store(stored.layout)
    whole = b"".join(kept.read(short))
    kept.remove([missing])
    put(stored, short, whole[:-1])
    put(stored, other, bytes(len(b"".join(kept.read(other)))))
    put(stored, "default/app/date=2026-01-01/hour=00/orphan.parquet", whole)

    assert found(stored) == [
        (Trouble.MISSING, missing, "2 events"),
        (Trouble.DAMAGED, short, f"{len(whole) - 1} bytes instead of {len(whole)}"),
        (Trouble.DAMAGED, other, "its footer cannot be read"),
        (Trouble.ORPHAN, "default/app/date=2026-01-01/hour=00/orphan.parquet", "the manifest does not have it"),
    ]


def test_file_with_other_rows_than_the_manifest_says_is_damaged(stored: Bench, database: None):
    from_manifest = dataset_sizes.live()[0]
    dataset_sizes.database.execute_sql("UPDATE file SET rows = 7 WHERE path = %s", (from_manifest.path,))

    assert found(stored) == [(Trouble.DAMAGED, from_manifest.path, "2 rows instead of 7")]


def test_torn_tail_is_told_from_damage_with_events_behind_it(stored: Bench):
    stored.append(n=[4])
    stored.append(n=[5, 6])
    stored.storage.close()
    waiting = list_segments(stored.layout.staging)
    first, second = [Path(each.path) for each in waiting if each.name not in converted([e.name for e in waiting])]
    os.truncate(first, first.stat().st_size - 1)
    content = bytearray(second.read_bytes())
    content[HEADER_BYTES + 1] ^= 1
    second.write_bytes(content)

    torn, damaged = found(stored)

    assert torn[0] is Trouble.TAIL
    assert torn[1].endswith(first.name)
    assert damaged[0] is Trouble.DAMAGED
    assert damaged[2] == "unreadable from byte 0 on, with 2 events behind it"


def test_store_that_is_away_is_no_damage(stored: Bench, monkeypatch: pytest.MonkeyPatch):
    """Or `repair --give-up-lost` would drop files that are in order."""
    if stored.layout.url is None:
        pytest.skip("of a bucket")
    entry = dataset_sizes.live()[0]
    # What Polars cannot read for whatever reason: it keeps a connection of its own to the store that was there.
    put(stored, entry.path, bytes(entry.bytes))
    monkeypatch.setattr(ObjectStore, "sizes", lambda _: iter([(entry.path, entry.bytes)]))
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr(store, "RETRIES", 0)
    store._client.cache_clear()

    with pytest.raises(StorageUnavailable, match="object store: reading"):
        list(inspect(stored.layout))
    store._client.cache_clear()


def test_check_and_repair_of_a_bucket(database_url: str, database: None, bucket: str, tmp_path: Path):
    bench = Bench(tmp_path, bucket)
    for number in range(2):
        bench.append(n=[number])
        bench.convert()

    def run(*arguments: str, url: str = bucket) -> Any:
        environment = {"WEIR_DATABASE_URL": database_url, "WEIR_DATA_DIR": str(tmp_path), "WEIR_STORAGE_URL": url}
        return weirctl(None, *arguments, **environment)

    assert rows(run("check")) == []
    open_store(bench.layout).remove([dataset_sizes.live()[0].path])
    lost = run("check")
    assert lost.returncode == 1
    assert '"trouble": "missing"' in lost.stdout
    assert run("repair").returncode == 1
    wrong = run("repair", "--give-up-lost", url=f"{bucket}-typo")
    assert wrong.returncode == 1
    assert "is that the right bucket?" in wrong.stderr
    assert run("repair", "--give-up-lost").returncode == 0
    assert [entry.rows for entry in dataset_sizes.live()] == [1]
    assert rows(run("check")) == []
