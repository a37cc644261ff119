"""What an engine cannot run it refuses when the pipeline is compiled, naming the part and where it does run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_shard.support import (
    require_combiner,
    require_pane_time,
    require_policy,
    require_strategy,
    require_windows,
)

from flowalg import (
    FOREVER,
    Accumulation,
    Aggregate,
    ApproximateDistinct,
    AtCount,
    AtWatermark,
    BoundedDisorder,
    CalendarDays,
    Count,
    CustomWindows,
    FixedWindows,
    GlobalWindows,
    Mean,
    OnTime,
    PaneTime,
    Perfect,
    Quantile,
    Quantiles,
    Repeat,
    Sessions,
    SlidingWindows,
    Sum,
    ToList,
    UnsupportedError,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
    combiner,
    together,
)
from flowalg.combiners import as_combiner
from flowalg.triggers import DEFAULT_TRIGGER

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("windows", [GlobalWindows(), FixedWindows(MINUTE)])
@pytest.mark.parametrize("trigger", [AtWatermark(), DEFAULT_TRIGGER, Repeat(DEFAULT_TRIGGER)])
def test_what_runs_is_let_through(windows: WindowFn, trigger: Repeat) -> None:
    """The subset that the step's own tests hold to the reference."""
    require_strategy(WindowingStrategy(windows, trigger, allowed_lateness=FOREVER), "it")


@pytest.mark.parametrize(
    "windows",
    [
        SlidingWindows(MINUTE, MINUTE),
        Sessions(MINUTE),
        CalendarDays("UTC"),
        CustomWindows("mine", lambda point, key: []),
        FixedWindows(MINUTE, phase=lambda key: MINUTE),
    ],
    ids=str,
)
def test_other_windows_are_refused(windows: WindowFn) -> None:
    """By name, in batch and in streaming."""
    with pytest.raises(UnsupportedError, match="it: Spark runs global and fixed windows so far, and not"):
        require_windows(windows, "it")


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (WindowingStrategy(trigger=Repeat(AtCount(2))), "not one that fires at every 2 elements"),
        (WindowingStrategy(trigger=AtWatermark(0.5)), "not one that fires when the 0.5 watermark passes"),
        (WindowingStrategy(accumulation=Accumulation.RETRACTING), "and is not retracting"),
        (WindowingStrategy(accumulation=Accumulation.DISCARDING), "and is not discarding"),
        (WindowingStrategy(on_time=OnTime.ALWAYS), "on-time panes only if changed"),
        (WindowingStrategy(pane_time=PaneTime.EARLIEST), "not the earliest event time"),
    ],
)
def test_other_strategies_are_refused_by_streaming(strategy: WindowingStrategy, message: str) -> None:
    """Each part with what it is, and with the interpreter that runs it."""
    with pytest.raises(UnsupportedError, match=rf"it: .*{message}.*the reference interpreter runs it"):
        require_strategy(strategy, "it")


def test_batch_refuses_what_panes_would_carry_otherwise() -> None:
    """Triggers and modes do not matter to a batch, but the event time of its panes does."""
    with pytest.raises(UnsupportedError, match="not the latest event time"):
        require_pane_time(WindowingStrategy(pane_time=PaneTime.LATEST), "it")


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Perfect(), r"Perfect \(what the source knows to be complete\)"),
        (BoundedDisorder(MINUTE, idle_after=MINUTE), r"BoundedDisorder \(the greatest .* idle for 0:01:00\)"),
        (BoundedDisorder(MINUTE, percentiles=(0.5,)), r"BoundedDisorder \(the greatest .* percentiles 0.5\)"),
    ],
)
def test_other_policies_are_refused_by_streaming(policy: WatermarkPolicy, message: str) -> None:
    """By name and in words, with the interpreter that runs it; bounded disorder without options runs."""
    require_policy(BoundedDisorder(MINUTE), "it")
    with pytest.raises(
        UnsupportedError, match=rf"it: .* and not {message}; the reference interpreter runs it"
    ):
        require_policy(policy, "it")


@pytest.mark.parametrize("built_in", [Sum[int](), Mean.of(len), together(Count(), Mean.of(len))])
def test_built_in_combiners_are_let_through(built_in: Aggregate[str, object]) -> None:
    """Alone, of a function, and several at once."""
    require_combiner(as_combiner("it", built_in), "it")


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (Quantile(0.5), "Quantile"),
        (Quantiles.of(len, (0.5, 0.9)), "Quantiles"),
        (ApproximateDistinct(), "ApproximateDistinct"),
        (together(Count(), ApproximateDistinct.of(len)), "ApproximateDistinct"),
        (together(Count(), together(Count(), Mean.of(len))), "Count, Mean"),
        (combiner(zero=0, add=lambda total, v: total, merge=max, name="mine"), "mine"),
        (ToList[str](), "ToList"),
    ],
)
def test_other_combiners_are_refused(other: Aggregate[str, object], name: str) -> None:
    """By name, whatever they combine, before anything else is asked of the pipeline."""
    message = (
        f"^it: Spark runs Sum, Count, Mean, Min and Max so far, and not {name}; the reference interpreter"
    )
    with pytest.raises(UnsupportedError, match=message):
        require_combiner(as_combiner("it", other), "it")
