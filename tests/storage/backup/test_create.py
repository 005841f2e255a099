"""Backup and restore: one moment of everything, taken while events come in; whole, or refused by name."""

import hashlib
import itertools
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import psycopg
import pytest

from config import Settings
from errors import HostMissing
from models import base, dataset, deletion_hold, file
from storage.backup import archive
from storage.backup.archive import BackupRefused
from storage.backup.create import backup
from storage.backup.data_dir import NotNow, open_data_dir, require_restored
from storage.backup.restore import restore
from storage.cluster import peers
from storage.cluster.host import layout as layout_of
from storage.context import Layout
from storage.files.store import open_store
from storage.read.dataset_stats import dataset_stats
from storage.read.scan import scan
from storage.read.snapshot import take_snapshot
from storage.upkeep.compaction import FAN_IN, compact, remove_replaced
from storage.upkeep.conversion import convert_all, remove_converted
from tests.conftest import NewDatabase
from tests.running import Service
from tests.storage.cluster.test_peers import HostBench, Wire
from tests.storage.faults import Crash, Steps, injected
from tests.storage.workbench import NOON, Bench
from tests.weirctl.test_commands import rows as printed
from tests.weirctl.test_commands import weirctl

EmptyDatabase = Callable[[], str]


@pytest.fixture
def empty_database(new_database: NewDatabase) -> Iterator[EmptyDatabase]:
    """A function that makes an empty database and returns its URL."""
    with ExitStack() as databases:
        yield lambda: databases.enter_context(new_database())


@pytest.fixture
def database(database_url: str) -> Iterator[None]:
    """The models bound to a database, without a connection that would be open while they are bound elsewhere."""
    base.bind(database_url)
    yield
    base.database.close_all()


@pytest.fixture
def bench(tmp_path: Path, database: None) -> Iterator[Bench]:
    """In a directory beside which there is room for a backup."""
    (tmp_path / "data").mkdir()
    made = Bench(tmp_path / "data")
    yield made
    made.storage.close()


@pytest.fixture
def filled(bench: Bench) -> Bench:
    """Two datasets; events converted, compacted, waiting, and of a dataset that is deleted."""
    other, gone = dataset.create("default", "other"), dataset.create("default", "gone")
    for number in range(FAN_IN):
        bench.append(n=[number], text=["tab\tnewline\n\\.\nend"])
        bench.append(target=gone, n=[number])
        bench.convert()
    assert compact(bench.layout) == FAN_IN
    bench.storage.delete("default", "gone")
    bench.append(target=other, n=[1.5])
    bench.convert()
    bench.append(n=[100, 101])
    return bench


def settings(root: Path, url: str) -> Settings:
    return Settings(data_dir=root, database_url=url)


def read(root: Path, url: str, name: str) -> tuple[pl.DataFrame, object]:
    """All events of a restored dataset by arrival, and its account."""
    base.bind(url)
    layout = layout_of(root)
    with base.connection():
        found = dataset.find("default", name)
        rows = scan(take_snapshot(layout, found)).collect().sort("p_timestamp", "n")
        return rows, dataset_stats(layout, found)


def test_restored_events_columns_and_accounts_are_equal(filled: Bench, tmp_path: Path, empty_database: EmptyDatabase):
    before = {
        name: (
            scan(take_snapshot(filled.layout, found)).collect().sort("p_timestamp", "n"),
            dataset_stats(filled.layout, found),
        )
        for name in ("app", "other")
        for found in [dataset.find("default", name)]
    }
    url, root = empty_database(), tmp_path / "restored"

    made = backup(filled.layout, tmp_path / "backup")
    restore(tmp_path / "backup", settings(root, url))

    assert made.events == FAN_IN + 1
    for name, (rows, counted) in before.items():
        found, recounted = read(root, url, name)
        assert found.equals(rows)
        assert recounted == counted
    assert layout_of(root).node == filled.layout.node


def test_restored_deployment_goes_on(filled: Bench, tmp_path: Path, empty_database: EmptyDatabase):
    """Ids of deleted datasets are not given out again, and what waited is converted once."""
    dataset.create("default", "last")
    last = dataset.delete("default", "last").id
    url, root = empty_database(), tmp_path / "restored"
    backup(filled.layout, tmp_path / "backup")
    restore(tmp_path / "backup", settings(root, url))
    base.bind(url)

    with base.connection():
        fresh = dataset.create("default", "fresh")
        converted = convert_all(layout_of(root))
        remove_converted(layout_of(root), -1)
        remove_replaced(layout_of(root), -1)
    rows, _ = read(root, url, "app")

    assert fresh.id > last
    assert converted == 1
    assert rows["n"].to_list() == [*range(FAN_IN), 100, 101]


def test_backup_can_be_read_by_its_owner_only(filled: Bench, tmp_path: Path):
    backup(filled.layout, tmp_path / "backup")

    found = [tmp_path / "backup", *(tmp_path / "backup").rglob("*")]

    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}


def test_every_changed_byte_is_found_and_its_file_named(filled: Bench, tmp_path: Path, empty_database: EmptyDatabase):
    source = tmp_path / "backup"
    manifest = backup(filled.layout, source)
    victims = [path for path in source.rglob("*") if path.is_file() and path.stat().st_size]
    assert len(victims) == sum(each.bytes > 0 for each in manifest.members) + 2

    for path in victims:
        whole = path.read_bytes()
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        with pytest.raises(BackupRefused, match=str(path.relative_to(source)).replace("+", r"\+")):
            archive.verify(source, archive.read(source))
        path.write_bytes(whole)
    archive.verify(source, archive.read(source))


@pytest.mark.parametrize(
    ("directory", "harm"), [("files", "changed"), ("segments", "shortened"), ("database", "missing")]
)
def test_damaged_backup_is_not_restored(
    filled: Bench, tmp_path: Path, empty_database: EmptyDatabase, directory: str, harm: str
):
    source, root, url = tmp_path / "backup", tmp_path / "restored", empty_database()
    victim = max(backup(filled.layout, source).below(directory), key=lambda each: each.bytes).path
    whole = (source / victim).read_bytes()
    (source / victim).write_bytes({"changed": b"\0" + whole[1:], "shortened": whole[:-1], "missing": b""}[harm])
    if harm == "missing":
        (source / victim).unlink()

    with pytest.raises(BackupRefused, match="damaged") as refusal:
        restore(source, settings(root, url))

    assert victim in str(refusal.value)
    with pytest.raises(NotNow, match="interrupted"):
        require_restored(root)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "../outside",
            "/tmp/outside",
            "files/../../outside",
            "files/x.parquet",
            "files//etc/x.parquet",
            "files/a/./x",
        ),
        *(
            "files/postgres/data/x.parquet",
            "segments/../../x.wal",
            "segments/x",
            "server.lock",
            "node/x",
            "database/../x",
        ),
        *("files/default/app/x.parquet\n", "files/default/app/\0.parquet", "files/default/../x.parquet", ""),
    ],
)
def test_forged_manifest_cannot_write_elsewhere(filled: Bench, tmp_path: Path, path: str):
    manifest = backup(filled.layout, tmp_path / "backup")
    forged = tmp_path / "forged"
    forged.mkdir()
    archive.finish(forged, replace(manifest, members=(archive.Member(path, 0, ""),)))

    with pytest.raises(BackupRefused, match=r"outside of itself|understands"):
        archive.read(forged)


def forge(source: Path, table: str, change: Callable[[bytes], bytes]) -> None:
    """Change a table's text, and all checksums."""
    manifest, path = archive.read(source), f"database/{table}.copy"
    forged = change((source / path).read_bytes())
    (source / path).write_bytes(forged)
    member = archive.Member(path, len(forged), hashlib.sha256(forged).hexdigest())
    for name in (archive.MANIFEST, archive.CHECKSUM):
        (source / name).unlink()
    others = (each for each in manifest.members if each.path != path)
    archive.finish(source, replace(manifest, members=(*others, member)))


STRANGE = [
    *(b"victim.txt", b"../../victim.parquet", b"/tmp/victim.parquet", b"secret.key", b"postgres/data/x.parquet"),
    *(b"a/\\056\\056/x.parquet", b"a//x.parquet", b"a/./x.parquet", b"\\N", b""),
]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("table", ["file", "segment"])
def test_forged_row_cannot_name_a_file_elsewhere(
    filled: Bench, tmp_path: Path, empty_database: EmptyDatabase, table: str, name: bytes
):
    """Files that the tables say are removed are deleted."""
    source = tmp_path / "backup"
    backup(filled.layout, source)
    forge(source, table, lambda text: name + text[text.index(b"\t") :])

    with pytest.raises(BackupRefused, match=f"a row of {table}"):
        archive.verify(source, archive.read(source))
    with pytest.raises(BackupRefused, match=f"a row of {table}"):
        restore(source, settings(tmp_path / "restored", empty_database()))


def test_forged_rows_cannot_hide_behind_other_line_ends(filled: Bench, tmp_path: Path):
    """COPY takes a carriage return for the end of a row too, if the first row ends so."""
    source = tmp_path / "backup"
    backup(filled.layout, source)
    forge(source, "file", lambda text: text.replace(b"\n", b"\r"))

    with pytest.raises(BackupRefused, match="a row of file"):
        archive.verify(source, archive.read(source))


@pytest.mark.parametrize("place", ["file", "directory"])
def test_backup_with_a_link_is_refused(filled: Bench, tmp_path: Path, place: str):
    source = tmp_path / "backup"
    manifest = backup(filled.layout, source)
    member = source / manifest.below("segments")[0].path
    moved = member if place == "file" else member.parent
    moved.rename(tmp_path / "elsewhere")
    moved.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BackupRefused, match="link"):
        archive.verify(source, archive.read(source))


def test_backup_of_a_newer_version_is_refused_by_name(filled: Bench, tmp_path: Path, database_url: str):
    manifest = backup(filled.layout, tmp_path / "backup")
    newer = tmp_path / "newer"
    newer.mkdir()
    archive.finish(newer, replace(manifest, migrations=(*manifest.migrations, "999_future")))

    with pytest.raises(BackupRefused, match="999_future"):
        restore(newer, settings(tmp_path / "restored", database_url))


def test_backup_of_an_older_version_is_migrated_at_the_next_start(tmp_path: Path, empty_database: EmptyDatabase):
    """Before the last migration, that is."""
    base.bind(empty_database())
    names = [path.stem for path in sorted(base.MIGRATIONS.glob("*.sql"))]
    base.migrate(names[:-1])
    root, url = tmp_path / "restored", empty_database()
    backup(Layout(tmp_path / "data"), tmp_path / "backup")
    restore(tmp_path / "backup", settings(root, url))
    base.bind(url)

    assert base.migrate() == names[-1:]


def test_restore_is_refused_where_anything_is(filled: Bench, tmp_path: Path, empty_database: EmptyDatabase):
    source, url = tmp_path / "backup", empty_database()
    backup(filled.layout, source)
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "something").touch()

    with pytest.raises(BackupRefused, match="is not empty"):
        restore(source, settings(occupied, url))
    restore(source, settings(tmp_path / "first", url))
    base.bind(url)
    with base.connection():
        dataset.create("default", "made since")
    with pytest.raises(BackupRefused, match="the database is not empty"):
        restore(source, settings(tmp_path / "second", url))


def test_backup_is_refused_where_anything_is(filled: Bench, tmp_path: Path):
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "something").touch()

    with pytest.raises(BackupRefused, match="inside of the data directory"):
        backup(filled.layout, filled.layout.root / "backup")
    with pytest.raises(BackupRefused, match="is not empty"):
        backup(filled.layout, tmp_path / "occupied")


def test_files_of_an_earlier_backup_are_linked_unless_they_are_damaged(
    filled: Bench, tmp_path: Path, empty_database: EmptyDatabase
):
    first, second = tmp_path / "first", tmp_path / "second"
    sound, damaged = sorted(each.path for each in backup(filled.layout, first).below(archive.FILES))
    content = (first / damaged).read_bytes()
    (first / damaged).write_bytes(bytes(len(content)))
    filled.append(n=[102])
    filled.convert()

    backup(filled.layout, second, first)

    assert (second / sound).samefile(first / sound)
    assert (second / damaged).read_bytes() == content
    assert len(archive.read(second).below(archive.FILES)) > 2
    shutil.rmtree(first)
    url, root = empty_database(), tmp_path / "restored"
    restore(second, settings(root, url))
    assert read(root, url, "app")[0]["n"].to_list() == [*range(FAN_IN), 100, 101, 102]


def test_backup_has_what_the_other_hosts_have_not_converted(
    bench: Bench, tmp_path: Path, empty_database: EmptyDatabase, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(peers, "RESTART_SECONDS", 0)
    wire = Wire()
    here, there = HostBench(tmp_path / "a", "a", wire), HostBench(tmp_path / "b", "b", wire)
    here.append(x=[1])
    there.append(x=[2, 3])
    url, root = empty_database(), tmp_path / "restored"

    backup(here.layout, tmp_path / "backup")
    del wire.layouts["b"]
    with pytest.raises(HostMissing):
        backup(here.layout, tmp_path / "incomplete")
    here.close()
    there.close()
    restore(tmp_path / "backup", settings(root, url))
    base.bind(url)
    converted = convert_all(layout_of(root))

    assert converted == 2
    assert sorted(scan(take_snapshot(layout_of(root), here.app)).collect()["x"]) == [1, 2, 3]


def test_interrupted_backup_is_none_or_whole(filled: Bench, tmp_path: Path):
    steps = len(_backed_up(filled, tmp_path / "counted", None).taken)
    refusals = []

    for at in range(0, steps, 3):
        source = tmp_path / f"backup-{at}"
        _backed_up(filled, source, at)
        try:
            archive.verify(source, archive.read(source))
        except BackupRefused as refusal:
            refusals.append(str(refusal))

    # Only the very last step leaves a whole one. How many there are differs by who makes a directory first.
    assert len(refusals) >= steps // 3 - 2
    assert all("no complete backup" in each for each in refusals)


def _backed_up(bench: Bench, target: Path, at: int | None) -> Steps:
    with injected(Steps(at)) as steps, suppress(Crash):
        backup(bench.layout, target)
    return steps


def test_interrupted_restore_does_not_look_complete_and_goes_on(
    filled: Bench, tmp_path: Path, empty_database: EmptyDatabase
):
    expected = filled.rows().sort("p_timestamp", "n")
    source = tmp_path / "backup"
    backup(filled.layout, source)
    steps = len(_restored(source, settings(tmp_path / "counted", empty_database()), None).taken)

    for at in sorted({*range(0, steps, 23), *range(steps - 4, steps)}):
        root, url = tmp_path / f"restored-{at}", empty_database()
        _restored(source, settings(root, url), at)
        if not _looks_complete(root):
            restore(source, settings(root, url))
        require_restored(root)
        assert read(root, url, "app")[0].equals(expected)


def _looks_complete(root: Path) -> bool:
    """Whether a service would start on what is there."""
    if not any(path.name != "server.lock" for path in root.glob("*")):
        return False
    try:
        require_restored(root)
    except NotNow:
        return False
    return True


def _restored(source: Path, wanted: Settings, at: int | None) -> Steps:
    with injected(Steps(at)) as steps, suppress(Crash):
        restore(source, wanted)
    base.database.close_all()
    return steps


def test_nothing_is_deleted_while_a_backup_holds(filled: Bench):
    paths = [filled.layout.root / path for path in file.removed_before(NOON.replace(year=9999), 1000)]
    assert len(paths) >= FAN_IN
    kept = []

    def delete() -> None:
        with base.connection():
            kept.append((remove_replaced(filled.layout, -1), remove_converted(filled.layout, -1)))

    with deletion_hold.held():
        other = threading.Thread(target=delete)
        other.start()
        other.join()
        assert kept == [(0, 0)]
        assert all(path.exists() for path in paths)
    delete()

    assert kept[1][0] == len(paths)
    assert not any(path.exists() for path in paths)


def test_lost_hold_fails_the_backup(filled: Bench, tmp_path: Path):
    with pytest.raises(Exception, match="hold on deletion was lost"), deletion_hold.held():
        base.database.execute_sql("SELECT pg_advisory_unlock_all()")


def test_backup_under_load_has_each_acknowledged_event_once(
    start_service: Callable[..., Service], tmp_path: Path, empty_database: EmptyDatabase
):
    service = start_service(workers=2, WEIR_FLUSH_SECONDS="0.2")
    acked: list[int] = []
    is_over = threading.Event()
    numbers = itertools.count()

    def send() -> None:
        while not is_over.is_set():
            n = next(numbers)
            service.ingest("app", [{"n": n}]).raise_for_status()
            acked.append(n)

    senders = [threading.Thread(target=send) for _ in range(2)]
    for each in senders:
        each.start()
    known: list[set[int]] = []
    for number in range(3):
        while len(acked) < 30 * (number + 1):
            assert all(each.is_alive() for each in senders)
            is_over.wait(0.01)
        known.append(set(acked))
        done = weirctl(None, "backup", str(tmp_path / f"backup-{number}"), **_environment(service))
        assert done.returncode == 0, done.stderr
    is_over.set()
    for each in senders:
        each.join()

    for number, before in enumerate(known):
        root, url = tmp_path / f"restored-{number}", empty_database()
        restore(tmp_path / f"backup-{number}", settings(root, url))
        rows, _ = read(root, url, "app")
        found = [int(n) for n in rows["n"]]
        assert len(found) == len(set(found))
        assert before <= set(found) <= set(acked)


def test_backup_of_a_bucket_is_restored_into_another_and_into_files(
    database: None, bucket: str, tmp_path: Path, empty_database: EmptyDatabase
):
    (tmp_path / "data").mkdir()
    bench = Bench(tmp_path / "data", bucket)
    for number in range(3):
        bench.append(x=[number])
        bench.convert()
    bench.append(x=[3])
    expected = bench.rows().sort("p_timestamp", "x")
    paths = [path for path, _ in open_store(bench.layout).sizes()]
    backup(bench.layout, tmp_path / "backup")

    for number, place in enumerate((f"{bucket}-again", None)):
        url, root = empty_database(), tmp_path / f"restored-{number}"
        restore(tmp_path / "backup", Settings(data_dir=root, database_url=url, storage_url=place))
        base.bind(url)
        layout = layout_of(root, place)
        assert scan(take_snapshot(layout, bench.app)).collect().sort("p_timestamp", "x").equals(expected)
        assert [path for path, _ in open_store(layout).sizes()] == paths


def test_restore_into_a_bucket_with_files_of_others_is_refused(
    filled: Bench, bucket: str, tmp_path: Path, empty_database: EmptyDatabase
):
    backup(filled.layout, tmp_path / "backup")
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"PAR1")
    open_store(Layout(tmp_path, url=bucket)).publish(foreign, "default/x/foreign.parquet")

    with pytest.raises(BackupRefused, match=r"not empty: it has default/x/foreign.parquet"):
        restore(
            tmp_path / "backup",
            Settings(data_dir=tmp_path / "restored", database_url=empty_database(), storage_url=bucket),
        )


def _environment(service: Service) -> dict[str, str]:
    return {**service.environment, "WEIR_DATA_DIR": str(service.data_dir)}


def test_restored_service_answers_as_before(start_service: Callable[..., Service], tmp_path: Path):
    """With another database than before: the embedded one, which the restore makes."""
    service = start_service(workers=1, WEIR_FLUSH_SECONDS="0.2")
    key = service.make_key("shipper", {"privilege": "ingestor"})
    for n in range(5):
        service.ingest("app", [{"n": n, "at": {"depth": n / 2}}, {"n": str(n)}]).raise_for_status()
    sql = "SELECT n, n_utf8, at_depth, p_timestamp, p_src_ip FROM app ORDER BY p_timestamp, n, n_utf8"
    before = service.query(sql)
    (summary,) = printed(weirctl(None, "backup", str(tmp_path / "backup"), **_environment(service)))
    service.stop()
    environment = {name: value for name, value in service.environment.items() if name != "WEIR_DATABASE_URL"}
    root = tmp_path / "restored"

    (restored,) = printed(weirctl(None, "restore", str(tmp_path / "backup"), **environment, WEIR_DATA_DIR=str(root)))
    again = Service(root, environment, 1).start()
    try:
        answer = again.query(sql)
        sent = again.call("POST", "/api/v1/ingest", json=[{"n": 9}], headers={"X-P-Stream": "app", "X-API-Key": key})
        counted = again.query("SELECT count(*) AS c FROM app")
    finally:
        again.stop()

    assert restored == summary
    assert answer == before
    assert sent.status_code == 200
    assert counted == [{"c": 11}]


@pytest.mark.service
def test_service_does_not_start_beside_an_unfinished_restore(tmp_path: Path, database_url: str):
    (tmp_path / "restore.unfinished").write_text("digest")

    with pytest.raises(RuntimeError, match="was interrupted; run it again"):
        Service(tmp_path, {"WEIR_DATABASE_URL": database_url}, 1).start()
    with pytest.raises(NotNow), open_data_dir(settings(tmp_path, database_url)):
        pass
