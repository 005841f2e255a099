"""The lock files hold what the ranges allow, each file by its hash (docs/security.md, "Supply chain")."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.running import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock")
# Wheels of CPython 3.11 to 3.13 on two machines, at least, of packages that are compiled for each.
COMPILED = ("cryptography", "gevent", "orjson", "psycopg-binary")
LEAST_FILES = 6


@cache
def locked(name: str) -> dict[str, tuple[Requirement, int]]:
    """Each package's pin and its number of hashes."""
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            pin = Requirement(line.partition("--hash=")[0].strip())
            hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}(?!\S)", line)
            assert len(hashes) == line.count("--hash=")
            found[canonicalize_name(pin.name)] = (pin, len(hashes))
    return found


def ranges(name: str) -> list[Requirement]:
    """What people install by, without its comments and the files that it includes."""
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text("utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-r ")]


def version(pin: Requirement) -> str:
    (only,) = pin.specifier
    assert only.operator == "=="
    return only.version


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_by_the_hashes_of_its_files(lock: str):
    pins = locked(lock)

    assert len(pins) > 30
    assert [name for name, (pin, hashes) in pins.items() if not version(pin) or hashes == 0] == []
    assert all(pins[name][1] >= LEAST_FILES for name in COMPILED)


@pytest.mark.parametrize(
    ("file", "lock"),
    [("requirements.txt", LOCKS[0]), ("requirements.txt", LOCKS[1]), ("requirements-dev.txt", LOCKS[1])],
)
def test_lock_satisfies_the_ranges(file: str, lock: str):
    pins = locked(lock)

    for wanted in ranges(file):
        assert wanted.specifier.contains(version(pins[canonicalize_name(wanted.name)][0])), wanted


def asked_by(package: str, extras: set[str]) -> Iterator[Requirement]:
    """What an installed package needs on this machine."""
    try:
        needs = [Requirement(line) for line in requires(package) or []]
    except PackageNotFoundError:  # of another system or version of Python
        return
    for need in needs:
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield need


@pytest.mark.parametrize("lock", LOCKS)
def test_pins_carry_the_extras_that_packages_ask_for(lock: str):
    """Without them pip takes the newest release for the extra, has no hash for it, and refuses the whole file."""
    pins = locked(lock)
    by_packages = [need for name, (pin, _) in pins.items() for need in asked_by(name, pin.extras)]
    asked = [need for need in [*ranges(lock.replace(".lock", ".txt")), *by_packages] if need.extras]

    assert asked
    assert [str(need) for need in asked if not need.extras <= pins[canonicalize_name(need.name)][0].extras] == []


def test_tests_run_with_what_is_deployed():
    deployed, tested = locked(LOCKS[0]), locked(LOCKS[1])

    assert {name: version(pin) for name, (pin, _) in deployed.items()} == {
        name: version(tested[name][0]) for name in deployed
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_place_to_load_from(lock: str):
    """Whose mirror it is says whoever installs."""
    text = (ROOT / lock).read_text("utf-8")

    assert "://" not in text
    assert not re.search(r"^\s*(-i|-f|--(extra-)?index-url|--find-links|--trusted-host)\b", text, re.MULTILINE)
