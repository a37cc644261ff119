"""What a stream needs to know that a batch does not: when its state ends, and how far its input is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import AnyFeature, Feature
from flowalg.data.errors import ArgumentError, CheckpointError, SchemaMismatchError, UnsupportedError
from flowalg.watermarks import Perfect, WatermarkPolicy
from flowalg.windows.strategy import WindowingStrategy
from flowalg.windows.window_functions import GlobalWindows

TIME: Final = "a timestamp with a time zone"
FLAG: Final = "a column of booleans"
TEXT: Final = "a column of texts"
WINDOW: Final = "a struct of the timestamps start and end"

CLOCK_COLUMNS: Final[Mapping[str, str]] = {
    "processing_time": TIME,
    "end_of_input": FLAG,
    "partition": TEXT,
    "signal": TEXT,
    "signal_key": TEXT,
    "signal_window": WINDOW,
    "tick": FLAG,
    "source_watermark": TIME,
}
"""What the column of each argument of a ``StreamInput`` must be, for errors; each engine has the types that fit."""

_BATCH: Final[Mapping[AnyFeature, str]] = {
    Feature.STREAMING: "a batch is one instant: every window has one pane, on time"
}
_STREAMING: Final[Mapping[AnyFeature, str]] = {
    Feature.UNSET_LATENESS: "it would keep the state of every window; pass FOREVER if that is intended",
    Perfect: "a stream does not know its future elements, unless its source publishes a watermark",
}


def batch_capabilities(engine: str) -> Capabilities:
    """Returns what a batch of an engine can do."""
    return Capabilities(f"{engine} batch", _BATCH)


def stream_capabilities(engine: str) -> Capabilities:
    """Returns what a stream of an engine can do."""
    return Capabilities(f"{engine} streaming", _STREAMING)


def require_lateness(label: str, strategy: WindowingStrategy) -> None:
    """Raises ``UnsupportedError`` for finite windows whose state would be kept indefinitely without anyone's choice."""
    if strategy.allowed_lateness is None and not isinstance(strategy.windows, GlobalWindows):
        raise UnsupportedError(
            f"{label} over {strategy.windows} has no allowed_lateness, so it would keep the state of every window "
            "indefinitely; pass window(..., allowed_lateness=timedelta(...)), or FOREVER if that is intended"
        )


def require_policy(watermark: object) -> None:
    """Raises ``ArgumentError`` if the watermark of an input is not a policy."""
    if not isinstance(watermark, WatermarkPolicy):
        valid = "a watermark policy, such as BoundedOutOfOrderness(timedelta(seconds=30))"
        raise ArgumentError("StreamInput.watermark", watermark, valid)


def require_observable(policy: WatermarkPolicy, source: str) -> None:
    """Raises ``UnsupportedError`` for the policy of a source without a watermark if only a bounded source has it."""
    if isinstance(policy, Perfect):
        raise UnsupportedError(
            f"source {source!r}: the watermark policy Perfect needs to know the future elements of its source, which a "
            "stream does not; use BoundedOutOfOrderness(delay), or another policy, unless the source publishes its "
            "watermark: then pass StreamInput(..., source_watermark=column)"
        )


def ticks_with_times(source: str) -> ArgumentError:
    """Returns the error for ticks of a clock whose times the source carries."""
    return ArgumentError(
        "tick_when_idle", True, f"False if a source carries processing times, as {source!r} does"
    )


def frame_without_policy(source: str) -> ArgumentError:
    """Returns the error for a recorded frame whose clock nobody defines."""
    valid = f"a watermark policy, since the input of source {source!r} is a frame and has none"
    return ArgumentError("watermark", None, valid)


def cannot_order(source: str, argument: str, kind: object) -> SchemaMismatchError:
    """Returns the error for a column of a type that does not order the rows of a recorded frame."""
    valid = TIME if argument == "processing_time" else "a column of integers, texts, dates or timestamps"
    return SchemaMismatchError(f"source {source!r}: {argument} must be {valid}; got {kind}")


def other_format(what: str, stored: object, supported: int) -> CheckpointError:
    """Returns the error for a checkpoint of another version of flowalg."""
    return CheckpointError(
        f"{what} has format {stored}, and this version of flowalg reads the format {supported}; continue with the "
        "version that wrote it, or start the query with a new checkpoint"
    )
