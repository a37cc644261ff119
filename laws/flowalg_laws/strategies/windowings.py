"""Windowing strategies, and scenarios in which two triggers are compared."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import FOREVER, Accumulation, AtCount, Mode, Repeat
from flowalg.triggers import Trigger
from flowalg.windows import AllowedLateness, OnTimeBehavior, TimestampCombiner, WindowFn, WindowingStrategy
from flowalg_laws.kit.scenarios import Scenario
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.timelines import free_timelines
from flowalg_laws.strategies.times import durations
from flowalg_laws.strategies.triggers import triggers
from flowalg_laws.strategies.windows import window_fns


@cached
def latenesses() -> SearchStrategy[AllowedLateness]:
    """Allowed latenesses: zero, finite and unlimited."""
    return st.one_of(durations(0), st.just(FOREVER))


@cached
def windowing_strategies(
    *,
    windows: SearchStrategy[WindowFn] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    modes: SearchStrategy[Accumulation] | None = None,
    plain: bool = False,
) -> SearchStrategy[WindowingStrategy]:
    """Windowing strategies. Each part is generated unless it is given.

    With ``plain`` panes have the end of their window as event time, and only changed windows emit panes.
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


@cached
def scenarios(*, corrections: bool = True) -> SearchStrategy[Scenario]:
    """Returns all windowing strategies, timelines and modes; the trigger is left out. ``corrections`` are made
    upstream.
    """
    default_trigger: SearchStrategy[Trigger] = st.just(WindowingStrategy().trigger)
    at_once: SearchStrategy[Trigger] = st.just(Repeat(AtCount(1)))
    corrected_by = windowing_strategies(trigger=at_once, modes=st.just(Accumulation.RETRACTING))
    return st.builds(
        Scenario,
        windowing_strategies(trigger=default_trigger),
        free_timelines(),
        st.sampled_from(Mode),
        st.none() | corrected_by if corrections else st.none(),
    )
