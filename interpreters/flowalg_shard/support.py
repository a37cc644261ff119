"""What the step can run so far, said when a pipeline is compiled rather than found out when it runs."""

from __future__ import annotations

from flowalg.assignment import FixedWindows, GlobalWindows, WindowFn
from flowalg.combiners import Combiner, Count, Max, Mean, Min, Over, Sum
from flowalg.errors import UnsupportedError
from flowalg.triggers import AtWatermark, Repeat, Trigger
from flowalg.watermarks import BoundedDisorder, WatermarkPolicy
from flowalg.windowing import Accumulation, OnTime, PaneTime, WindowingStrategy
from flowalg.words import in_words
from flowalg_shard.stage import scalar_combiners

ELSEWHERE = "the reference interpreter runs it"


def require_windows(windows: WindowFn, label: str) -> None:
    """Raises ``UnsupportedError`` for window strategies that have no columns yet."""
    if not isinstance(windows, GlobalWindows | FixedWindows) or (
        isinstance(windows, FixedWindows) and windows.phase is not None
    ):
        raise UnsupportedError(
            f"{label}: Spark runs global and fixed windows so far, and not {windows}; {ELSEWHERE}"
        )


def require_combiner(combiner: Combiner[object, object, object], label: str) -> None:
    """Raises ``UnsupportedError`` for combiners that have no columns, naming the first of them."""
    for part in scalar_combiners(combiner):
        inner = part.combiner if isinstance(part, Over) else part
        if not isinstance(inner, Sum | Count | Mean | Min | Max):
            raise UnsupportedError(
                f"{label}: Spark runs Sum, Count, Mean, Min and Max so far, and not {inner.title}; {ELSEWHERE}"
            )


def require_strategy(strategy: WindowingStrategy, label: str) -> None:
    """Raises ``UnsupportedError`` for what the step cannot do, naming the part of the strategy."""
    require_windows(strategy.windows, label)
    if not _runs(strategy.trigger):
        raise UnsupportedError(
            f"{label}: streaming runs triggers at the watermark so far, repeated or not, and not one that fires "
            f"{in_words(strategy.trigger)}; {ELSEWHERE}"
        )
    if strategy.accumulation is not Accumulation.ACCUMULATING:
        raise UnsupportedError(
            f"{label}: streaming accumulates so far, and is not {strategy.accumulation.value}; {ELSEWHERE}"
        )
    if strategy.on_time is not OnTime.IF_CHANGED:
        raise UnsupportedError(f"{label}: streaming emits on-time panes only if changed so far; {ELSEWHERE}")
    require_pane_time(strategy, label)


def require_pane_time(strategy: WindowingStrategy, label: str) -> None:
    """Raises ``UnsupportedError`` for panes that carry another event time than the end of their window."""
    if strategy.pane_time is not PaneTime.END_OF_WINDOW:
        raise UnsupportedError(
            f"{label}: on Spark panes carry the end of their window so far, and not the {strategy.pane_time.value} "
            f"event time; {ELSEWHERE}"
        )


def require_policy(policy: WatermarkPolicy, label: str) -> None:
    """Raises ``UnsupportedError`` for watermark policies other than bounded disorder without options."""
    if not isinstance(policy, BoundedDisorder) or policy != BoundedDisorder(policy.delay):
        raise UnsupportedError(
            f"{label}: streaming runs the watermark policy BoundedDisorder(delay) without options so far, and not "
            f"{type(policy).__name__} ({policy}); {ELSEWHERE}"
        )


def _runs(trigger: Trigger) -> bool:
    match trigger:
        case AtWatermark(percentile=percentile):
            return percentile is None
        case Repeat(trigger=inner):
            return _runs(inner)
        case _:
            return False


__all__ = [
    "require_combiner",
    "require_pane_time",
    "require_policy",
    "require_strategy",
    "require_windows",
]
