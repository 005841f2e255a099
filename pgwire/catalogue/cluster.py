"""The PostgreSQL that answers questions about the catalogue: a cluster of its own, started when first asked.

Apart from the one that Weir keeps its own tables in, so that no statement of a client's ever runs there, and with
`WEIR_DATABASE_URL` as without it. It holds no data: what it was told is told again if it is lost.

Run as `python -m pgwire.catalogue.cluster DATA_DIR`, in a process of its own since all of it blocks.
"""

import sys
from pathlib import Path
from typing import Final

import psycopg

from config import close_to_others
from embedded_postgres import server
from embedded_postgres.server import Kind
from models.base import MIGRATION_LOCK
from pgwire.catalogue import template

MIB: Final = 1024 * 1024
# Nothing here has to survive a power cut. The transaction that makes the tables of all datasets holds about three locks
# for each: there are enough for 10,000. Clients know the oldest version best: psql before 17 cannot list the databases
# of a newer server.
KIND: Final = Kind(
    "postgres-catalogue",
    """
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 60
superuser_reserved_connections = 10
max_locks_per_transaction = 512
shared_buffers = 16MB
work_mem = 4MB
temp_file_limit = 64MB
wal_level = minimal
max_wal_senders = 0
fsync = off
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
log_timezone = 'UTC'
timezone = 'UTC'
""",
    is_oldest=True,
    most_bytes=768 * MIB,
)


def start(data_dir: Path) -> None:
    """Start the cluster unless it runs, and make what its databases are made from. Safe in parallel."""
    url = server.ensure_running(data_dir, KIND)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (template.READER,)).fetchone():
            connection.execute(template.ROLE)
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (template.NAME,)).fetchone():
            return
        unfinished = f"{template.NAME}_new"
        connection.execute(f"DROP DATABASE IF EXISTS {unfinished}")
        connection.execute(f"CREATE DATABASE {unfinished} TEMPLATE template0")
        with psycopg.connect(url, dbname=unfinished, autocommit=True) as made:
            made.execute(template.CONTENT)
        connection.execute(f"ALTER DATABASE {unfinished} RENAME TO {template.NAME}")


if __name__ == "__main__":
    close_to_others()
    start(Path(sys.argv[1]))
