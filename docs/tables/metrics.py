"""``docs/metrics.md``: the metrics of running queries, from the table that exporters read, and the alerts on them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from attrs import frozen
from flowalg_tools.monitoring import METRICS, Metric

PATH: Final = Path(__file__).parents[1] / "metrics.md"


@frozen
class Alert:
    """An alert of Prometheus: its expression, how long it holds before it fires, its meaning, and what to do."""

    name: str
    expression: str
    wait: str
    meaning: str
    action: str


ALERTS: Final = (
    Alert(
        "FlowalgQueryFailed",
        "flowalg_query_failed == 1",
        "0m",
        "The query has failed.",
        "Read its error on the status page or in the log. Start it again from the same checkpoint: it continues where "
        "it stopped. If a record is the cause, run with `dead_letters=True`.",
    ),
    Alert(
        "FlowalgProcessAway",
        'up{job="flowalg"} == 0',
        "2m",
        "The process does not answer.",
        "Start it again from the same checkpoint. If memory was the cause, see the size of the state before.",
    ),
    Alert(
        "FlowalgNoMicroBatch",
        "time() - flowalg_query_last_batch_timestamp_seconds > 600 and on (query) flowalg_query_running == 1",
        "0m",
        "No micro-batch for ten minutes: the sources are silent, or a micro-batch does not end.",
        "See whether the sources have data. If they have, see what the process does: a sink or a function that waits.",
    ),
    Alert(
        "FlowalgWatermarkBehind",
        "time() - flowalg_stage_watermark_timestamp_seconds > 900",
        "5m",
        "The watermark is more than 15 minutes behind, so results are late. Set the limit to what the policy allows "
        "for and the delay that readers accept.",
        "The status page names the source and the partition that the watermark waits for. A partition that may be "
        "silent needs `idle_after`.",
    ),
    Alert(
        "FlowalgWatermarkAhead",
        "flowalg_source_watermark_lag_seconds < -60",
        "0m",
        "The watermark of a source is ahead of the clock, so all elements are late: an element from the future.",
        "Set `max_ahead` of the policy, and go back to a copy of the checkpoint from before the element.",
    ),
    Alert(
        "FlowalgWatermarkStuck",
        "changes(flowalg_stage_watermark_timestamp_seconds[15m]) == 0 and on (query) "
        "sum by (query) (increase(flowalg_source_elements_total[15m])) > 0",
        "0m",
        "Elements arrive, and the watermark does not advance: windows stay open and the state grows.",
        "One partition or source is behind or silent: see the status page, and set `idle_after`.",
    ),
    Alert(
        "FlowalgFallingBehind",
        "deriv(flowalg_stage_watermark_lag_seconds[15m]) > 0.1",
        "15m",
        "The lag grows: the query is slower than its input.",
        "Compare the time of the stages with that of the micro-batch: the rest is reading and the sinks. Give the "
        "query more shards or cores, or emit fewer early panes.",
    ),
    Alert(
        "FlowalgDataDropped",
        "sum by (query) (rate(flowalg_stage_dropped_total[10m])) > "
        "0.001 * sum by (query) (rate(flowalg_source_elements_total[10m]))",
        "10m",
        "More than one element in a thousand is dropped as too late.",
        "Read the drops in the output. `flowalg what-if` recommends a watermark and a lateness for the delays.",
    ),
    Alert(
        "FlowalgMostPanesLate",
        'sum by (query, stage) (rate(flowalg_stage_panes_total{kind="late"}[30m])) > '
        'sum by (query, stage) (rate(flowalg_stage_panes_total{kind="on_time"}[30m]))',
        "30m",
        "More late panes than on-time ones: the watermark is too early for this input.",
        "Choose another policy with `flowalg what-if`.",
    ),
    Alert(
        "FlowalgBadRecords",
        "increase(flowalg_query_bad_records_total[10m]) > 0",
        "0m",
        "Records are bad, and are kept as dead letters.",
        "Read their errors in the dead letters: a field or a function of another version.",
    ),
    Alert(
        "FlowalgStateGrows",
        "predict_linear(flowalg_stage_state_size_bytes[6h], 86400) > 8e9",
        "1h",
        "The state will exceed 8 GB within a day, if it grows as in the last six hours.",
        "See whether the watermark advances. If it does, `explain` names windows that never expire.",
    ),
    Alert(
        "FlowalgPartitionAwaited",
        "flowalg_source_awaited_partitions > 0",
        "10m",
        "A declared partition has no records yet, so the source has no watermark.",
        "See whether the partition exists. Remove it from `partitions`, or set `idle_after`.",
    ),
)
"""The alerts of the page."""

HEAD: Final = """\
# Metrics and alerts

`make docs` generates this page from the table that the exporters read, `flowalg_tools.monitoring.METRICS`.
[Operating a query](operating.md) shows how a query gets them.

## Metrics

Durations and times are in seconds, sizes in bytes, and a time is in seconds since the epoch. Every metric has the label
`query`, the name of the query. `stage` is the number of a stage in the pipeline and its name, such as
`0 combine_per_key(Sum)`. Counters add up over the micro-batches of this process, also if a query starts again. Gauges
of stages and sources are absent while the query does not run.

| in Prometheus | in OpenTelemetry | kind | unit | labels | meaning |
| --- | --- | --- | --- | --- | --- |
"""

MIDDLE: Final = """
## Alerts

| alert | meaning | what to do |
| --- | --- | --- |
"""

RULES: Final = """
As rules of Prometheus, for a scrape job called `flowalg`:

```yaml
"""


def row(metric: Metric) -> str:
    """Returns the row of a metric."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    names = f"`{metric.prometheus_name}` | `{metric.name}`"
    unit = f"`{metric.unit}`" if metric.unit else "–"
    return f"| {names} | {metric.kind} | {unit} | {labels} | {metric.meaning} |\n"


def rules() -> str:
    """Returns the alerts as a file of rules."""
    lines = ["groups:", "- name: flowalg", "  rules:"]
    for alert in ALERTS:
        lines += [
            f"  - alert: {alert.name}",
            f"    expr: '{alert.expression}'",
            f"    for: {alert.wait}",
            "    annotations:",
            f'      summary: "{alert.meaning}"',
        ]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Returns the whole page."""
    alerts = "".join(f"| `{alert.name}` | {alert.meaning} | {alert.action} |\n" for alert in ALERTS)
    return f"{HEAD}{''.join(map(row, METRICS))}{MIDDLE}{alerts}{RULES}{rules()}```\n"
