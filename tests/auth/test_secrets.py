"""Key material, digests and seals."""

import stat
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from auth.secrets import FILE_NAME, Secrets, master_key, require_same_key
from errors import InternalError

SECRET = "7f0c1e5e-3f77-4f4c-9a3e-0c5f2a4cb5ee"


def test_digest_is_stable_and_depends_on_the_master_key():
    assert Secrets(b"a" * 32).digest(SECRET) == Secrets(b"a" * 32).digest(SECRET)
    assert Secrets(b"a" * 32).digest(SECRET) != Secrets(b"b" * 32).digest(SECRET)


def test_sealed_copy_opens_and_shows_nothing():
    secrets = Secrets(b"a" * 32)
    sealed = secrets.seal(SECRET, "K1")

    assert secrets.unseal(sealed, "K1") == SECRET
    assert SECRET.encode() not in sealed
    assert secrets.seal(SECRET, "K1") != sealed


@pytest.mark.parametrize("change", ["other key", "other row", "flipped bit"])
def test_sealed_copy_opens_only_unchanged_in_its_own_row_and_under_its_own_key(change):
    sealed = bytearray(Secrets(b"a" * 32).seal(SECRET, "K1"))
    if change == "flipped bit":
        sealed[-1] ^= 1

    with pytest.raises(InternalError) as error:
        Secrets(b"b" * 32 if change == "other key" else b"a" * 32).unseal(
            bytes(sealed), "K2" if change == "other row" else "K1"
        )
    assert SECRET not in str(error.value)


def test_key_file_is_made_once_for_the_owner_alone(tmp_path: Path):
    first = master_key(None, tmp_path / "data")

    assert master_key(None, tmp_path / "data") == first
    assert len(first) == 32
    assert stat.S_IMODE((tmp_path / "data" / FILE_NAME).stat().st_mode) == 0o600
    assert [each.name for each in (tmp_path / "data").iterdir()] == [FILE_NAME]


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path):
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        keys = set(pool.map(master_key, [None] * 16, [tmp_path] * 16))

    assert len(keys) == 1


@pytest.mark.parametrize("damage", [lambda path: path.chmod(0o640), lambda path: path.write_bytes(b"short")])
def test_unusable_key_file_stops_the_start(tmp_path: Path, damage):
    master_key(None, tmp_path)
    damage(tmp_path / FILE_NAME)

    with pytest.raises(InternalError, match=r"secret\.key"):
        master_key(None, tmp_path)


def test_short_setting_stops_the_start_without_being_repeated(tmp_path: Path):
    with pytest.raises(InternalError, match="WEIR_SECRET_KEY") as error:
        master_key("hunter2", tmp_path)
    assert "hunter2" not in str(error.value)


@pytest.mark.usefixtures("database")
def test_database_is_used_with_one_key_only():
    """A second host with a key file of its own would refuse every key that the first has made."""
    require_same_key(Secrets(b"a" * 32))
    require_same_key(Secrets(b"a" * 32))

    with pytest.raises(InternalError, match="WEIR_SECRET_KEY"):
        require_same_key(Secrets(b"b" * 32))
