"""Whole windowing strategies, and situations in which two triggers are compared."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    Accumulation,
    AllowedLateness,
    Mode,
    OnTimeBehavior,
    TimestampCombiner,
    Trigger,
    WindowFn,
    WindowingStrategy,
)
from flowalg_laws.kit.situations import Situation
from flowalg_laws.strategies.cached import kept
from flowalg_laws.strategies.timelines import free_timelines
from flowalg_laws.strategies.times import durations
from flowalg_laws.strategies.triggers import triggers
from flowalg_laws.strategies.windows import window_fns


@kept
def latenesses() -> SearchStrategy[AllowedLateness]:
    """Allowed latenesses: none, some, and for ever."""
    return st.one_of(durations(0), st.just(FOREVER))


@kept
def windowing_strategies(
    *,
    windows: SearchStrategy[WindowFn] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    modes: SearchStrategy[Accumulation] | None = None,
    plain: bool = False,
) -> SearchStrategy[WindowingStrategy]:
    """Windowing strategies, each part of which is drawn unless it is given.

    With ``plain`` panes carry the end of their window, and only what has changed comes out.
    """
    return st.builds(
        WindowingStrategy,
        window_fns() if windows is None else windows,
        triggers() if trigger is None else trigger,
        st.sampled_from(Accumulation) if modes is None else modes,
        latenesses(),
        st.just(TimestampCombiner.END_OF_WINDOW) if plain else st.sampled_from(TimestampCombiner),
        st.just(OnTimeBehavior.IF_CHANGED) if plain else st.sampled_from(OnTimeBehavior),
    )


@kept
def situations() -> SearchStrategy[Situation]:
    """Every windowing strategy, timeline and engine; the trigger is left out."""
    one_trigger: SearchStrategy[Trigger] = st.just(WindowingStrategy().trigger)
    return st.builds(
        Situation, windowing_strategies(trigger=one_trigger), free_timelines(), st.sampled_from(Mode)
    )


__all__ = ["latenesses", "situations", "windowing_strategies"]
