"""The text that Prometheus reads: counters of all workers, and gauges that are looked up when somebody asks."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from serving.shared_counters import registry_of_all

# Whether the reader may see the samples of a tenant's dataset; and those of no tenant.
Visible = Callable[[str | None, str | None], bool]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number of now. With `dataset`, one of a dataset's."""

    name: str
    meaning: str
    value: float
    tenant: str | None = None
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, as a reader of Prometheus' text sees it."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(own: CollectorRegistry, gauges: Iterable[Gauge]) -> Iterator[Sample]:
    """All that `text` would show to somebody who may see everything."""
    for metric in [*registry_of_all(own).collect(), *_families(gauges)]:
        for each in metric.samples:
            yield Sample(each.name, each.labels, each.value)


def text(own: CollectorRegistry, gauges: Iterable[Gauge], visible: Visible) -> bytes:
    """Prometheus' text format 0.0.4, with only those samples that are `visible`."""
    registry = CollectorRegistry()
    registry.register(_Chosen(registry_of_all(own), list(gauges), visible))
    return generate_latest(registry)


class _Chosen:
    """A collector, as the library calls it, of what the reader may see."""

    def __init__(self, counted: CollectorRegistry, gauges: list[Gauge], visible: Visible) -> None:
        self._counted, self._gauges, self._visible = counted, gauges, visible

    def collect(self) -> Iterator[Metric]:
        for metric in [*self._counted.collect(), *_families(self._gauges)]:
            metric.samples = [
                sample
                for sample in metric.samples
                if self._visible(sample.labels.get("tenant"), sample.labels.get("dataset"))
            ]
            if metric.samples:
                yield metric


def _families(gauges: Iterable[Gauge]) -> Iterable[Metric]:
    families: dict[str, GaugeMetricFamily] = {}
    for each in gauges:
        labels = {} if each.tenant is None else {"tenant": each.tenant, "dataset": each.dataset or ""}
        family = families.setdefault(
            each.name, GaugeMetricFamily(f"weir_{each.name}", each.meaning, labels=list(labels))
        )
        family.add_metric(list(labels.values()), each.value)
    return families.values()
