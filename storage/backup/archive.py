"""The form of a backup on disk: what is called what, the list of its files, and how they are checked.

manifest.json     everything below; written last, so that a backup without it is no backup
manifest.sha256   the manifest's own checksum, in the form that `sha256sum -c` reads
database/         a file for each table, in PostgreSQL's COPY text format
files/            the Parquet files, under their paths of the manifest table
segments/         what was not Parquet yet
node, secret.key  of the data directory
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from errors import InvalidRequest
from models.dump import Counter, Shape
from storage.durable_files import sync_directory
from storage.files.store import pieces
from storage.names import SEGMENT, STORED

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
CHECKSUM: Final = "manifest.sha256"
DATABASE: Final = "database"
FILES: Final = "files"
SEGMENTS: Final = "segments"
# Only the backup's owner may read it: it holds digests of passwords and keys, and everybody's events.
FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
# What a member may be called. A path of nothing else leads anywhere else.
MEMBER: Final = re.compile(
    rf"{DATABASE}/[a-z_0-9]+\.copy|{FILES}/{STORED.pattern}|{SEGMENTS}/(?:[A-Za-z0-9_%-]+/)*{SEGMENT.pattern}\.wal"
    r"|node|secret\.key"
)
# The names on disk that tables hold, by table and column.
NAMES: Final[Mapping[str, Mapping[str, re.Pattern[str]]]] = {"file": {"path": STORED}, "segment": {"name": SEGMENT}}


class BackupRefused(InvalidRequest):
    """The backup cannot be made or used as it is."""

    code = "backup_refused"


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the backup: its path in it, and what it has to be."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Table:
    """A dumped table."""

    name: str
    columns: tuple[str, ...]
    rows: int

    @property
    def shape(self) -> Shape:
        return Shape(self.name, self.columns)

    @property
    def path(self) -> str:
        return f"{DATABASE}/{self.name}.copy"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. `events`: rows of its Parquet files. Tables are in the order in which they are loaded."""

    version: str
    created_at: str
    node: str
    events: int
    migrations: tuple[str, ...]
    tables: tuple[Table, ...]
    counters: tuple[Counter, ...]
    members: tuple[Member, ...] = field(repr=False)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.members)

    def below(self, directory: str) -> list[Member]:
        """The members in the directory and below."""
        return [each for each in self.members if each.path.startswith(directory + "/")]

    def member(self, path: str) -> Member | None:
        """The member of that path."""
        return next((each for each in self.members if each.path == path), None)


def write_member(root: Path, path: str, content: Iterable[bytes]) -> Member:
    """Write a new file of the backup, durable on return but for its directory's entry. Raises OSError."""
    return fill(root, path, lambda write: _each(content, write))


def fill(root: Path, path: str, produce: Callable[[Callable[[bytes], object]], object]) -> Member:
    """As `write_member`, from a function that is given what to call with each piece."""
    target = root / path
    _make_directory(target.parent)
    digest, size = hashlib.sha256(), 0
    with open(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE), "wb") as file:

        def write(piece: bytes) -> None:
            nonlocal size
            digest.update(piece)
            size += len(piece)
            file.write(piece)

        produce(write)
        file.flush()
        os.fsync(file.fileno())
    return Member(path, size, digest.hexdigest())


def reuse(source: Path, root: Path, member: Member) -> bool:
    """Take the member of another backup into this one by a link, if it is still what it was.

    Nobody writes to either, so each may be deleted without harm to the other. False: the member is damaged, or on
    another file system, and nothing was done.
    """
    try:
        for _ in content(source, member):
            pass
        _make_directory((root / member.path).parent)
        os.link(source / member.path, root / member.path)
    except (BackupRefused, OSError):
        return False
    return True


def _make_directory(path: Path) -> None:
    """With its parents, which `Path.mkdir` would make for everybody."""
    if not path.is_dir():
        _make_directory(path.parent)
        path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)


def _each(content: Iterable[bytes], write: Callable[[bytes], object]) -> None:
    for piece in content:
        write(piece)


def finish(root: Path, manifest: Manifest) -> None:
    """Write the manifest, when all that it lists is there: from here on the backup is complete."""
    for directory, _, _ in os.walk(root, topdown=False):
        sync_directory(directory)
    text = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1).encode()
    unfinished = MANIFEST + ".new"
    member = write_member(root, unfinished, [text])
    write_member(root, CHECKSUM, [f"{member.sha256}  {MANIFEST}\n".encode()])
    (root / unfinished).rename(root / MANIFEST)
    sync_directory(root)


def read(root: Path) -> Manifest:
    """The manifest. Raises BackupRefused when there is none, it is damaged, or of a form that we do not know."""
    try:
        text = (root / MANIFEST).read_bytes()
        checksum = (root / CHECKSUM).read_bytes()
    except FileNotFoundError as error:
        raise BackupRefused(f"{root} is no complete backup: it has no {Path(str(error.filename)).name}") from error
    if checksum != f"{hashlib.sha256(text).hexdigest()}  {MANIFEST}\n".encode():
        raise BackupRefused(f"the backup is damaged: {MANIFEST} does not match {CHECKSUM}")
    try:
        manifest = _manifest(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupRefused(f"{root} holds no backup that this version of Weir understands: {MANIFEST}") from error
    _require_inside(manifest.members)
    return manifest


def _manifest(members: dict[str, Any]) -> Manifest:
    if members.pop("format") != FORMAT:
        raise BackupRefused(f"it was made by another version of Weir: its format is not {FORMAT}")
    members["migrations"] = tuple(members["migrations"])
    members["tables"] = tuple(Table(each["name"], tuple(each["columns"]), each["rows"]) for each in members["tables"])
    members["counters"] = tuple(Counter(**each) for each in members["counters"])
    members["members"] = tuple(Member(**each) for each in members["members"])
    if not all(isinstance(each.path, str) and "\0" not in each.path for each in members["members"]):
        raise TypeError("a member has no path")
    return Manifest(**members)


def _require_inside(members: Iterable[Member]) -> None:
    """A backup that somebody has forged must not write anywhere else."""
    for member in members:
        if not MEMBER.fullmatch(member.path):
            raise BackupRefused(
                f"the backup has a file outside of itself, or one that is none of Weir's: {member.path!r}"
            )


def table_content(root: Path, manifest: Manifest, table: Table) -> Iterator[bytes]:
    """The table's rows as text, as `content` gives them. Raises BackupRefused for names that are none of Weir's.

    What the manifest of files says is deleted, and read by queries.
    """
    member = manifest.member(table.path)
    if member is None:
        raise BackupRefused(f"the backup is damaged: {table.path} is not listed")
    patterns = [(table.columns.index(column), pattern) for column, pattern in NAMES.get(table.name, {}).items()]
    rest = b""
    for piece in content(root, member):
        if patterns:
            *lines, rest = (rest + piece).split(b"\n")
            _require_names(table, lines, patterns)
        yield piece
    if rest:
        _require_names(table, [rest], patterns)


def _require_names(table: Table, lines: Iterable[bytes], patterns: Sequence[tuple[int, re.Pattern[str]]]) -> None:
    for line in lines:
        # PostgreSQL writes a carriage return as two characters, and would take one for the end of a row.
        cells = [b"\r"] if b"\r" in line else line.split(b"\t")
        for place, pattern in patterns:
            name = cells[place].decode(errors="replace") if place < len(cells) else ""
            if not pattern.fullmatch(name):
                raise BackupRefused(
                    f"the backup has a row of {table.name} that is none of Weir's, in {table.path}: {name[:200]!r}"
                )


def content(root: Path, member: Member) -> Iterator[bytes]:
    """The member's bytes. Raises BackupRefused, in the end, when they are not those that were backed up."""
    digest, size = hashlib.sha256(), 0
    _require_no_link(root, member)
    try:
        for piece in pieces(root / member.path):
            digest.update(piece)
            size += len(piece)
            yield piece
    except FileNotFoundError as error:
        raise BackupRefused(f"the backup is damaged: {member.path} is missing") from error
    if size != member.bytes:
        raise BackupRefused(f"the backup is damaged: {member.path} has {size} bytes instead of {member.bytes}")
    if digest.hexdigest() != member.sha256:
        raise BackupRefused(f"the backup is damaged: {member.path} does not match its checksum")


def _require_no_link(root: Path, member: Member) -> None:
    """What is behind a link is no part of the backup, and not its maker's to give."""
    below = root
    for name in member.path.split("/"):
        below /= name
        if below.is_symlink():
            raise BackupRefused(f"the backup has a link: {below}")


def verify(root: Path, manifest: Manifest) -> None:
    """Read everything. Raises BackupRefused for the first file that is not what it was."""
    for table in manifest.tables:
        for _ in table_content(root, manifest, table):
            pass
    tables = {table.path for table in manifest.tables}
    for each in manifest.members:
        if each.path in tables:
            continue
        for _ in content(root, each):
            pass
