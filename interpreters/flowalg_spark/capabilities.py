"""What the Spark interpreters lack, as data. ``flowalg_laws.check_interpreter`` holds them to it, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowalg.capabilities import Capabilities
from flowalg.features import Area, Feature

_NOT_YET: Final = "not built yet; the reference interpreter runs it"

_STREAMING: Final[Mapping[Feature, str]] = {
    Feature.WINDOWS_BY_KEY: _NOT_YET,
    Feature.SLIDING_WINDOWS: _NOT_YET,
    Feature.SESSIONS: _NOT_YET,
    Feature.CALENDAR_WINDOWS: _NOT_YET,
    Feature.OWN_WINDOWS: _NOT_YET,
    Feature.OWN_MERGING_WINDOWS: _NOT_YET,
    Feature.EARLIEST_TIME: _NOT_YET,
    Feature.LATEST_TIME: _NOT_YET,
    Feature.FLATTEN: _NOT_YET,
    Feature.CO_GROUP: _NOT_YET,
    Feature.SIDE_SINGLETON: _NOT_YET,
    Feature.SIDE_MAP: _NOT_YET,
    Feature.SEVERAL_SOURCES: "there is nothing to bring them together with yet",
    Feature.TO_LIST: _NOT_YET,
    Feature.TO_SET: _NOT_YET,
    Feature.TOP_N: _NOT_YET,
    Feature.ANY_AND_ALL: _NOT_YET,
    Feature.VARIANCE: _NOT_YET,
    Feature.QUANTILES: _NOT_YET,
    Feature.APPROXIMATE_DISTINCT: _NOT_YET,
    Feature.OWN_COMBINERS: _NOT_YET,
}

_TRIGGERS: Final[Mapping[Feature, str]] = {
    one: _NOT_YET
    for one in Feature
    if one.area is Area.TRIGGERS and one not in (Feature.AT_WATERMARK, Feature.REPEAT)
}

_POLICIES: Final[Mapping[Feature, str]] = {
    one: _NOT_YET
    for one in Feature
    if one.area is Area.WATERMARKS and one not in (Feature.BOUNDED_DISORDER, Feature.PARTITIONS)
}

BATCH: Final = Capabilities(
    "Spark batch",
    {Feature.STREAMING: "a batch is one instant: every window has one pane, on time"},
)
"""What ``flowalg_spark.batch`` lacks."""

STREAMING: Final = Capabilities(
    "Spark streaming",
    {
        **_STREAMING,
        **_TRIGGERS,
        Feature.DISCARDING: _NOT_YET,
        Feature.RETRACTING: _NOT_YET,
        Feature.UNSET_LATENESS: "it would keep the state of every window for ever; say FOREVER if that is meant",
        Feature.ALWAYS_ON_TIME: _NOT_YET,
        Feature.REGROUPING: _NOT_YET,
        **_POLICIES,
        Feature.PARTITIONS: "a StreamInput has no way to name the partition of a row yet",
    },
)
"""What ``flowalg_spark.streaming`` lacks."""

__all__ = ["BATCH", "STREAMING"]
