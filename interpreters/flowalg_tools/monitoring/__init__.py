"""Operating a streaming query: its status as metrics of Prometheus and OpenTelemetry, as log lines, and as a page.

A ``Monitor`` and ``log_to(logger)`` are observers: engines call them with the events of queries. Everything else is a
function of the ``QueryStatus`` of each query: ``METRICS`` is the table of its metrics,
``flowalg_tools.monitoring.prometheus`` and ``flowalg_tools.monitoring.open_telemetry`` export them, and ``serve`` shows
them in a browser.
"""

from flowalg_tools.monitoring.log_lines import log_to
from flowalg_tools.monitoring.metric_table import METRICS, Metric, MetricKind
from flowalg_tools.monitoring.monitor import Monitor
from flowalg_tools.monitoring.server import StatusServer, serve
from flowalg_tools.monitoring.status import QueryState, QueryStatus, status_after
from flowalg_tools.monitoring.windows import WindowReader, local_windows, spark_windows

__all__ = [
    "METRICS",
    "Metric",
    "MetricKind",
    "Monitor",
    "QueryState",
    "QueryStatus",
    "StatusServer",
    "WindowReader",
    "local_windows",
    "log_to",
    "serve",
    "spark_windows",
    "status_after",
]
