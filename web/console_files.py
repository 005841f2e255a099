"""The console's files: read once at the start, compressed when first asked for, named by a digest of them all."""

import gzip
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

import cramjam

ROOT: Final = Path(__file__).parent.parent / "console"
SERVED: Final = frozenset({".js", ".css", ".svg", ".txt"})
# What `make vendor` works with is in the checkout for developers alone.
UNSERVED: Final = frozenset({"source", "node_modules"})
ENTRY: Final = "main.js"
DIGEST_LETTERS: Final = 16
# Level 11 takes a second for the editor, and saves 3 % more.
BROTLI_LEVEL: Final = 9
STATIC_IMPORT: Final = re.compile(r'^(?:import|export|\} from)\b[^"\n]*"(\.[^"]+)"', re.MULTILINE)
# By preference.
CODINGS: Final = ("br", "gzip")


@dataclass(frozen=True)
class ConsoleFile:
    """One file as browsers get it."""

    content: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        return sha256(self.content).hexdigest()[:DIGEST_LETTERS]

    @cached_property
    def br(self) -> bytes:
        return bytes(cramjam.brotli.compress(self.content, level=BROTLI_LEVEL))

    @cached_property
    def gzip(self) -> bytes:
        return gzip.compress(self.content, mtime=0)

    def encoded(self, coding: str) -> bytes:
        """The content in a coding of CODINGS, or as it is."""
        return {"br": lambda: self.br, "gzip": lambda: self.gzip}.get(coding, lambda: self.content)()


@dataclass(frozen=True)
class ConsoleFiles:
    """All files by their path below `console/`, and the page that begins with them."""

    files: Mapping[str, ConsoleFile]
    page: str

    @cached_property
    def digest(self) -> str:
        """Changes whenever any file does: addresses that hold it may be cached for ever."""
        names = "".join(f"{path} {self.files[path].etag}\n" for path in sorted(self.files))
        return sha256((names + self.page).encode()).hexdigest()[:DIGEST_LETTERS]

    @cached_property
    def preloaded(self) -> tuple[str, ...]:
        """The modules that the first view needs, so that browsers need not find them one after another."""
        return tuple(sorted(_imports(ENTRY, self.files)))


def read(root: Path = ROOT) -> ConsoleFiles:
    """The files of the checkout. None at all where somebody has left the folder out: the API works without it."""
    paths = [path for path in root.rglob("*") if path.suffix in SERVED and path.is_file()]
    found = {path.relative_to(root).as_posix(): path for path in paths if not UNSERVED.intersection(path.parts)}
    files = {name: ConsoleFile(path.read_bytes(), _media_type(path)) for name, path in found.items()}
    page = root / "index.html"
    return ConsoleFiles(files, page.read_text("utf-8") if page.exists() else "")


def _media_type(path: Path) -> str:
    # By our own table first: some systems call JavaScript text/plain, which browsers then refuse to run.
    known = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
    return known.get(path.suffix) or f"{mimetypes.guess_type(path.name)[0]}; charset=utf-8"


def _imports(path: str, files: Mapping[str, ConsoleFile]) -> set[str]:
    """The module and all that it imports statically, by path."""
    found, waiting = set[str](), [path]
    while waiting:
        current = waiting.pop()
        if current in found or current not in files:
            continue
        found.add(current)
        waiting += _imported(current, files[current].content.decode())
    return found


def _imported(path: str, text: str) -> Iterator[str]:
    """The modules that a module names.

    >>> list(_imported("pages/sql.js", 'import { html } from "../vendor/core.js";'))
    ['vendor/core.js']
    """
    for relative in STATIC_IMPORT.findall(text):
        parts: list[str] = []
        for part in (PurePosixPath(path).parent / relative).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        yield "/".join(parts)
