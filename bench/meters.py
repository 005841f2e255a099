"""What counting costs a request: the meters of one ingestion, in shared files, against a bare Flask request.

python -m bench.meters
"""

import tempfile
import timeit
from pathlib import Path

from flask import Flask

from metrics.meters import Meters
from serving.shared_counters import share

REQUESTS = 20_000


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        share(Path(directory))
        meters = Meters()

        def count() -> None:
            meters.answered("POST", "/api/v1/ingest", 200, 0.003)
            meters.ingested("default", "app", 10, 2000)
            meters.committed(1, 0.002, 0.001)

        app = Flask("bare")
        app.add_url_rule("/", view_func=lambda: "ok")
        client = app.test_client()
        counting = min(timeit.repeat(count, number=REQUESTS, repeat=3)) / REQUESTS
        bare = min(timeit.repeat(lambda: client.get("/"), number=REQUESTS // 20, repeat=3)) / (REQUESTS // 20)
    print(f"counting {counting * 1e6:.1f} us, a bare Flask request {bare * 1e6:.1f} us, ratio {counting / bare:.3f}")


if __name__ == "__main__":
    main()
