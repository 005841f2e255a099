"""A Spark with its Connect server and one place for a task, where PySpark and Java are installed."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.running import end_with_parent, free_port

START_SECONDS = 240
# A Python that has PySpark: an environment of its own, as in .ci/run.
PYTHON = os.environ.get("SPARK_PYTHON") or os.environ.get("ICEBERG_READERS_PYTHON")


@contextmanager
def spark_server(folder: Path) -> Iterator[str]:
    """The `sc://` URL of a server that lives as long as the block; skips the test where there is none to start."""
    pytest.importorskip("pyspark.sql.connect.proto", reason="pyspark-client is not installed")
    home = _home()
    port = free_port()
    with (folder / "spark.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(f"{home}/bin/spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
                *("--master", "local[1]", "--driver-memory", "1g", "--conf", "spark.ui.enabled=false"),
                *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.sql.shuffle.partitions=2"),
                # A task sees that it is cancelled between two batches only, whatever it makes of one.
                *("--conf", "spark.sql.parquet.columnarReaderBatchSize=1"),
                *("--conf", "spark.connect.grpc.binding.address=127.0.0.1", "spark-internal"),
            ],
            env=os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"},
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    try:
        _wait(process, port, folder / "spark.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(30)


def _home() -> Path:
    if PYTHON is None or shutil.which("java") is None:
        pytest.skip("SPARK_PYTHON names no Python with PySpark, or there is no Java")
    found = subprocess.run(
        [PYTHON, "-I", "-c", "import pyspark, os; print(os.path.dirname(pyspark.__file__))"],
        capture_output=True,
        text=True,
    )
    home = Path(found.stdout.strip() or "/nowhere")
    if not list(home.glob("jars/spark-connect_*.jar")):
        pytest.skip(f"{PYTHON} has no PySpark with its Connect server")
    return home


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(log.read_text()[-4000:])
