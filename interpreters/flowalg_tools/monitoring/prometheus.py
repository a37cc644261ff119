"""Metrics as Prometheus text. Needs ``flowalg[prometheus]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Final

from attrs import frozen

from flowalg.data.errors import ArgumentError, MissingExtraError

if find_spec("prometheus_client") is None:
    raise MissingExtraError(
        "metrics of Prometheus need prometheus-client, which is not installed: pip install 'flowalg[prometheus]'"
    )

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector

from flowalg_tools.monitoring.metric_table import METRICS, Metric, MetricKind
from flowalg_tools.monitoring.monitor import Monitor
from flowalg_tools.monitoring.status import QueryStatus

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""The content type of ``prometheus_text``."""


def register(monitor: Monitor, registry: CollectorRegistry = REGISTRY) -> Collector:
    """Adds the metrics of a monitor's queries to a registry, and returns their collector.

    The default is the registry that ``prometheus_client.start_http_server`` shows.
    """
    if not isinstance(monitor, Monitor):
        raise ArgumentError("monitor", monitor, "a Monitor")
    collector = _Collector(monitor)
    registry.register(collector)
    return collector


def prometheus_text(statuses: Sequence[QueryStatus]) -> str:
    """Returns the metrics of queries in Prometheus's text format."""
    registry = CollectorRegistry()
    registry.register(_Families(statuses))
    return generate_latest(registry).decode()


@frozen(eq=False)
class _Collector(Collector):
    """The metrics of a monitor's queries, as they are when they are collected."""

    monitor: Monitor

    def collect(self) -> Iterable[MetricFamily]:
        """Returns all metrics."""
        return families(self.monitor.statuses)


@frozen(eq=False)
class _Families(Collector):
    """The metrics of queries."""

    statuses: Sequence[QueryStatus]

    def collect(self) -> Iterable[MetricFamily]:
        """Returns all metrics."""
        return families(self.statuses)


def families(statuses: Sequence[QueryStatus]) -> Iterator[MetricFamily]:
    """Yields the metrics of queries as values of the library."""
    for metric in METRICS:
        family = _family(metric)
        for status in statuses:
            for labels, value in metric.samples(status):
                family.add_metric(labels, value)
        yield family


def _family(metric: Metric) -> CounterMetricFamily | GaugeMetricFamily:
    if metric.kind is MetricKind.COUNTER:
        return CounterMetricFamily(metric.prometheus_name, metric.meaning, labels=metric.labels)
    return GaugeMetricFamily(metric.prometheus_name, metric.meaning, labels=metric.labels)
