"""Metrics as instruments of OpenTelemetry. Needs ``flowalg[opentelemetry]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from flowalg.data.errors import ArgumentError, MissingExtraError

if find_spec("opentelemetry") is None:
    raise MissingExtraError(
        "metrics of OpenTelemetry need opentelemetry-api, which is not installed: pip install 'flowalg[opentelemetry]'"
    )

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation, get_meter

from flowalg_tools.monitoring.metric_table import METRICS, Metric, MetricKind
from flowalg_tools.monitoring.monitor import Monitor


def instrument(monitor: Monitor, meter_provider: MeterProvider | None = None) -> None:
    """Creates an observable instrument for each metric of a monitor's queries.

    The default provider is the global one, ``opentelemetry.metrics.set_meter_provider``. Its readers and exporters
    decide when the metrics are read, and where they are sent.
    """
    if not isinstance(monitor, Monitor):
        raise ArgumentError("monitor", monitor, "a Monitor")
    meter = get_meter("flowalg", meter_provider=meter_provider)
    for metric in METRICS:
        create = (
            meter.create_observable_counter
            if metric.kind is MetricKind.COUNTER
            else meter.create_observable_gauge
        )
        create(
            metric.name, callbacks=[_callback(metric, monitor)], unit=metric.unit, description=metric.meaning
        )


def _callback(metric: Metric, monitor: Monitor) -> Callable[[CallbackOptions], Iterator[Observation]]:
    def observe(_: CallbackOptions) -> Iterator[Observation]:
        for status in monitor.statuses:
            for labels, value in metric.samples(status):
                yield Observation(value, dict(zip(metric.labels, labels, strict=True)))

    return observe
