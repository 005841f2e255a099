"""How gunicorn runs Weir. Its command line and GUNICORN_CMD_ARGS win over everything here."""

import atexit
import fcntl
import os
import signal
import subprocess
import sys
from typing import Any

from gunicorn.glogging import Logger

import logs
import preflight
from config import InvalidSetting, Settings, close_to_others
from processes.child import blocked
from processes.forked import GROUP, new_group
from serving import preloading

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)

# From here until gunicorn has handlers of its own, a stop is an end in order: what has been started is stopped.
# A reload reads this once more, and must not take gunicorn's away: the master would not stop any more.
if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
    for number in STOPS:
        signal.signal(number, lambda *_: sys.exit(0))
close_to_others()
try:
    settings = Settings.from_env()
except InvalidSetting as error:
    sys.exit(f"weir: {error}")
cores = os.cpu_count() or 1
# Read again at each reload: from then on, nobody is forked from what a fork server loaded before.
os.environ[GROUP] = new_group()

bind = "127.0.0.1:8000"
# gevent workers that end at once when nothing is asked of them, and do less for each request (serving/), or gunicorn's.
worker_class = "gevent" if settings.http_stack == "stock" else "serving.gunicorn_worker.worker.Worker"
workers = cores
worker_connections = 1000
# The master imports the application for its workers (`when_ready`), but each worker makes an application of its own.
preload_app = False
# A worker whose hub stands still for this long is beyond help and is replaced. Requests may take longer.
timeout = 60
graceful_timeout = 30
# Longer than the idle time of the usual proxies and shippers, which must be the ones to close.
keepalive = 75
# Two servers of one user would fight over its fixed path, and nothing here needs it.
control_socket_disable = True
# Nobody says where Weir is mounted, nor who they are, by a header with an underscore: a proxy's rules are for paths.
forwarder_headers = ""
proc_name = "weir"


class Logs(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's own lines and ours, in one form on one stream. Set up before the fork, so every worker has it."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        logs.configure(settings.log_format, settings.log_level)
        for handler in [*self.error_log.handlers, *self.access_log.handlers]:
            handler.setFormatter(logs.formatter(settings.log_format))


logger_class = Logs


def on_starting(server: Any) -> None:
    """Start PostgreSQL, migrate, create the administrator: in a process of its own, since the master must fork.

    What is wrong with the data directory or the address is found before. gunicorn calls `on_exit` only once it runs,
    so what is started here is stopped at the master's exit, whatever that comes from.
    """
    try:
        preflight.require_free(server.cfg.address)
        preflight.require_otlp_grpc(settings)
        preflight.prepare_data_dir(settings)
        _listen_for_postgresql(server)
    except preflight.CannotStart as error:
        sys.exit(f"weir: {error}")
    lock = (settings.data_dir / preflight.LOCK).open("w")
    _begin_alone(lock)
    fcntl.flock(lock, fcntl.LOCK_SH)
    started: list[bool] = []
    atexit.register(_finish, os.getpid(), lock, started)
    addresses = [*server.cfg.address, *([settings.otlp_grpc_bind] if settings.otlp_grpc_bind else [])]
    if preflight.PG_LISTENER in os.environ:
        addresses.append(preflight.postgresql_address(settings))
    if _bootstrap("start", *map(host_of, addresses)):
        sys.exit(1)
    started.append(True)
    _let_booting_workers_end()


def _listen_for_postgresql(server: Any) -> None:
    """Workers inherit the socket by their fork, a new master by its environment. Raises preflight.CannotStart."""
    if preflight.PG_LISTENER in os.environ and "GUNICORN_FD" in os.environ:
        return
    os.environ.pop(preflight.PG_LISTENER, None)
    listener = preflight.listen_for_postgresql(settings)
    if listener is not None:
        os.environ[preflight.PG_LISTENER] = str(listener.detach())
    elif settings.pg_bind is None:
        server.log.warning(
            "%s is taken, so that no client of PostgreSQL can connect: choose another address with WEIR_PG_BIND, "
            "or set it to nothing",
            preflight.DEFAULT_PG_BIND,
        )


def pre_exec(server: Any) -> None:
    """Before a new master replaces this one: the socket for clients of PostgreSQL stays open."""
    if preflight.PG_LISTENER in os.environ:
        os.set_inheritable(int(os.environ[preflight.PG_LISTENER]), True)


def _bootstrap(*arguments: str) -> int:
    """Run bootstrap.py to its end; its exit code. Ctrl-C reaches every process of a terminal: there it means us."""
    process = None
    try:
        with blocked(signal.SIGINT, signal.SIGQUIT):
            process = subprocess.Popen(
                [sys.executable, "bootstrap.py", *arguments], cwd=os.path.dirname(__file__) or "."
            )
        # What was blocked arrives here at the earliest.
        return process.wait()
    except SystemExit:
        if process is not None:
            # It ends after the step that it is at.
            process.terminate()
            process.wait()
        raise


def _finish(master: int, lock: Any, started: list[bool]) -> None:
    """Leave the deployment and stop the embedded PostgreSQL, unless another server still uses this data directory."""
    if os.getpid() != master:
        return
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    if started:
        _bootstrap("stop")
    elif settings.database_url is None:
        _bootstrap("abandon")


def _let_booting_workers_end() -> None:
    """Between its fork and the worker's own handlers a process has the master's, which would swallow a stop."""
    master = os.getpid()
    os.register_at_fork(
        before=lambda: _mask_in(master, signal.SIG_BLOCK),
        after_in_parent=lambda: _mask_in(master, signal.SIG_UNBLOCK),
        after_in_child=lambda: _take_stops(master),
    )


def _mask_in(process: int, how: int) -> None:
    if os.getpid() == process:
        signal.pthread_sigmask(how, STOPS)


def _take_stops(master: int) -> None:
    """In a new worker; its own children have handlers of their own."""
    if os.getppid() == master:
        for number in STOPS:
            signal.signal(number, lambda *_: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def host_of(address: Any) -> str:
    """The host to be bound: a Unix socket's path is this one, no host or an inherited socket may be any."""
    if isinstance(address, str):
        return "localhost"
    return (isinstance(address, tuple) and address[0]) or "0.0.0.0"


def _begin_alone(lock: Any) -> None:
    """What only the first server of a data directory may do: drop the counters of servers that are gone."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    for path in (settings.data_dir / "metrics").glob("*.db"):
        path.unlink(missing_ok=True)


def post_fork(server: Any, worker: Any) -> None:
    """Keep libraries out of the log, and make the patches of gevent that the master has not made."""
    logs.withhold()
    preloading.finish()


def post_worker_init(worker: Any) -> None:
    """Live tails never end by themselves, and a worker that is to stop waits for its answers."""
    worker.wsgi.extensions["weir"].tails.watch_stop(lambda: not worker.alive)


def when_ready(server: Any) -> None:
    """Import the application, now that gunicorn has its sockets and signals, and say where to go next."""
    _configure_polars(server.cfg.workers)
    preloading.load("app", "serving.shared_counters")
    address = ", ".join(str(sock) for sock in server.LISTENERS)
    server.log.info("Weir listens on %s; the first five minutes are in README.md", address)
    if preflight.PG_LISTENER in os.environ:
        server.log.info("Clients of PostgreSQL connect to %s", settings.pg_bind or preflight.DEFAULT_PG_BIND)


def _configure_polars(workers: int) -> None:
    """Set what Polars reads when it is imported. Queries run in processes of their own, with all cores."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(1, cores // workers)))
    # Its allocator, jemalloc, gives back what is free from the first moment on, and the next request needs it again.
    # Kept for a minute, it costs a worker 15 MiB and saves a twentieth of its time (docs/decisions/ingestion.md).
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:60000,muzzy_decay_ms:60000")
