"""Other engines as readers of a table, each in a Python of its own: `iceberg_readers.py ENGINE URL KEY SECRET TABLE`.

Prints one line of JSON. Exit code 77: the engine is not there.
"""

import glob
import importlib
import json
import os
import sys
from collections.abc import Callable

QUERY = "SELECT level, count(*) AS k, sum(n) AS s, sum(ratio) AS r FROM {table} GROUP BY 1 ORDER BY 1"
NAMES = ("level", "k", "s", "r")
RUNTIME = "iceberg-spark-runtime-4.1_2.13"
MISSING = 77


def duckdb(url: str, key: str, secret: str, table: str) -> list[tuple[object, ...]]:
    engine = importlib.import_module("duckdb")
    connection = engine.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "icu", "iceberg"):
        package = importlib.import_module(f"duckdb_extension_{name}")
        (path,) = glob.glob(f"{os.path.dirname(package.__file__ or '')}/**/*.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{path}'")
    connection.execute(
        f"CREATE SECRET weir (TYPE iceberg, CLIENT_ID '{key}', CLIENT_SECRET '{secret}',"
        f" OAUTH2_SERVER_URI '{url}/iceberg/v1/oauth/tokens')"
    )
    connection.execute(f"ATTACH '' AS weir (TYPE iceberg, ENDPOINT '{url}/iceberg', SECRET weir)")
    rows = connection.execute(QUERY.format(table=f"weir.weir.{table}")).fetchall()
    return [(level, count, int(total), ratio) for level, count, total, ratio in rows]


def spark(url: str, key: str, secret: str, table: str) -> list[tuple[object, ...]]:
    sql = importlib.import_module("pyspark.sql")
    pattern = os.path.expanduser(f"~/.m2/repository/org/apache/iceberg/{RUNTIME}/*/{RUNTIME}-*.jar")
    jars = [path for path in sorted(glob.glob(pattern)) if "sources" not in path]
    if not jars:
        raise ImportError(f"{RUNTIME} is not in ~/.m2")
    settings = {
        "spark.jars": jars[-1],
        "spark.sql.catalog.weir": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.weir.type": "rest",
        "spark.sql.catalog.weir.uri": f"{url}/iceberg",
        "spark.sql.catalog.weir.credential": f"{key}:{secret}",
        "spark.sql.catalog.weir.oauth2-server-uri": f"{url}/iceberg/v1/oauth/tokens",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
    }
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    return [tuple(row) for row in session.sql(QUERY.format(table=f"weir.weir.{table}")).collect()]


ENGINES: dict[str, Callable[[str, str, str, str], list[tuple[object, ...]]]] = {"duckdb": duckdb, "spark": spark}


def main() -> int:
    engine, *arguments = sys.argv[1:]
    try:
        rows = ENGINES[engine](*arguments)
    except ImportError as error:
        print(f"{engine}: {error}", file=sys.stderr)
        return MISSING
    print(json.dumps([dict(zip(NAMES, row, strict=True)) for row in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
