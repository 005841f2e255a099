"""Supervision: exactly one child of a kind per host, started again when it dies. Runs in greenlets of every worker."""

import logging
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import gevent
from gevent.lock import BoundedSemaphore

from logs import outlet
from processes.child import blocked
from processes.locks import try_lock

logger = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
# Larger than what the kernel takes as one packet by default.
LARGEST_PACKET_BYTES = 256 * 1024

# Greenlets share the mask of signals of their thread, and starting a process lets others run: each would find the
# other's mask and put that back.
_start_lock = BoundedSemaphore()

# Gets each packet that a child writes.
OnPacket = Callable[[bytes], None]


def keep_running(
    name: str,
    lock: Path,
    command: Sequence[str],
    on_packet: OnPacket | None = None,
    after: Callable[[], object] = lambda: None,
) -> gevent.Greenlet:
    """Watch, from a greenlet of every worker, that exactly one process on this host runs `command`.

    Whoever gets the file lock starts the child, which inherits it: the kernel frees the lock when the child dies,
    however that happens, and any worker starts the next within WATCH_SECONDS. The child must end with its parent.
    With `on_packet`, it is told by `--log-to FD` of a socket for its log lines, a packet each. The watch begins once
    `after` has returned.
    """
    return gevent.spawn(_watch, name, lock, command, on_packet, after)


def _watch(
    name: str, lock: Path, command: Sequence[str], on_packet: OnPacket | None, after: Callable[[], object]
) -> None:
    after()
    while True:
        try:
            _run_as_owner(name, lock, command, on_packet)
        except OSError:
            logger.exception("cannot start %s", name)
        gevent.sleep(WATCH_SECONDS)


def _run_as_owner(name: str, lock: Path, command: Sequence[str], on_packet: OnPacket | None) -> None:
    """Run `command` to its end if nobody holds the lock."""
    with lock.open("w") as lock_file:
        if not try_lock(lock_file):
            return
        child = _start(command, lock_file.fileno(), on_packet)
    logger.info("started %s as process %d", name, child.pid)
    logger.warning("%s ended with status %d", name, child.wait())


def _start(command: Sequence[str], lock: int, on_packet: OnPacket | None) -> "subprocess.Popen[bytes]":
    """The child, which inherits the lock."""
    if on_packet is None:
        return _spawn(command, lock)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        told = [*command, "--log-to", str(theirs.fileno())]
        child = _spawn(told, lock, theirs.fileno())
    gevent.spawn(_listen, ours, on_packet)
    return child


def _spawn(command: Sequence[str], *inherited: int) -> "subprocess.Popen[bytes]":
    """Ctrl-C reaches every process of a terminal; this one ends with its parent, which ends in order."""
    with _start_lock, blocked(signal.SIGINT, signal.SIGQUIT):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=outlet(), pass_fds=inherited)


def _listen(ours: socket.socket, on_packet: OnPacket) -> None:
    """Hand on every packet until the other end is closed."""
    with ours:
        while packet := ours.recv(LARGEST_PACKET_BYTES):
            on_packet(packet)
