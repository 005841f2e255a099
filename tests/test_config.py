"""What the settings do besides being read."""

import os

import pytest

from config import Settings


@pytest.mark.parametrize(("account", "mode"), [(1000, 0o700), (0, 0o711)], ids=["an account", "root"])
def test_a_new_data_directory_is_open_to_whom_it_has_to_be(tmp_path, monkeypatch, account, mode):
    monkeypatch.setattr(os, "geteuid", lambda: account)
    before = os.umask(0o022)
    try:
        Settings(data_dir=tmp_path / "new" / "data").make_data_dir()
    finally:
        os.umask(before)

    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == mode


def test_a_data_directory_that_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "data").mkdir(mode=0o750)

    Settings(data_dir=tmp_path / "data").make_data_dir()

    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o750
