"""The list of a stage's metrics: it has every kind of pane and every reason of a drop.

The tests catch a timing or a reason that the core adds and the metrics do not count.
"""

from __future__ import annotations

from attrs import fields
from flowalg_shard import ShardMetrics
from flowalg_spark.streaming.metrics_columns import METRICS_TYPE, PACKED_TYPE

from flowalg.runs import Change, DropReason, Timing
from flowalg.runs.metrics import Counts


def test_every_kind_of_pane_and_of_drop_is_counted() -> None:
    """Each timing of a pane, the retraction, and each reason of a drop is a field of ``Counts``.

    Late panes and elements that are dropped as late have two fields.
    """
    kinds = {
        *(timing.value for timing in Timing),
        Change.RETRACTION.value,
        *(reason.value for reason in DropReason),
        "dropped_late",
    }
    assert {field.name for field in fields(Counts)} == kinds | {"windows", "state_bytes", "unfired_timers"}


def test_the_schemas_have_the_fields_of_the_class() -> None:
    """Both schemas of a row of metrics have the fields of ``ShardMetrics``, in their place."""
    place, names = ["batch", "number", "stage", "shard"], [field.name for field in fields(ShardMetrics)]
    assert PACKED_TYPE.names == METRICS_TYPE.names == [*place, *names, "seconds"]
