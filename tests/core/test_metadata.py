"""What user code sees of an element: event time, window and pane, on the reference; and where they are refused.

The conformance jobs run the same on every engine; these tests state which collections have no such metadata.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import pytest

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    Max,
    PCollection,
    PTransform,
    Sum,
    explain,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError
from flowalg.runs import WindowBounds
from flowalg.windows import TimestampCombiner
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
TWO = FixedWindows(2 * MINUTE)
EARLY = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))

Points = PCollection[KV[str, int]]


def sums(mode: Accumulation | None = None) -> Points:
    """Returns the sums of points in two-minute windows, with early and late panes."""
    windowed = POINTS.window(TWO, trigger=EARLY, accumulation=mode, allowed_lateness=FOREVER)
    return windowed.combine_per_key(Sum())


def test_the_global_window_has_the_bounds_of_time() -> None:
    """In the global window the bounds are those of time, as datetimes."""
    (pane,) = reference.run_batch(
        POINTS.combine_per_key(Sum()).with_window(), {SCORES: [Score("a", 1, minute(0))]}
    ).panes
    assert pane.element == (KV("a", 1), WindowBounds(MIN_TIME.datetime, MAX_TIME.datetime))


def test_assigned_event_times_are_shown() -> None:
    """After ``with_timestamps`` the event time is the assigned one, and that of a pane is chosen by its combiner."""
    moved = (
        SCORES.with_timestamps(lambda s: s.at + MINUTE).with_event_time().map(lambda pair: KV("all", pair[1]))
    )
    latest = (
        moved.window(TWO, timestamp_combiner=TimestampCombiner.LATEST)
        .combine_per_key(Max())
        .with_event_time()
    )
    (pane,) = reference.run_batch(latest, {SCORES: [Score("a", 1, minute(2.5))]}).panes
    assert pane.element == (KV("all", minute(3.5)), minute(3.5))


@pytest.mark.parametrize("method", ["with_window", "with_pane"])
def test_metadata_of_groupings_is_refused_before_a_grouping(method: str) -> None:
    """Before a grouping, also between ``window`` and it, elements are in no window and no pane."""
    message = rf"the collection of {method}\(\) must be grouped since the last window"
    for collection in (SCORES, POINTS, POINTS.window(TWO), sums().window(TWO)):
        with pytest.raises(ArgumentError, match=message):
            getattr(collection, method)()


def test_a_transform_is_refused_where_its_elements_are_not_grouped() -> None:
    """Whether elements are grouped is checked when a transform is applied, since its body does not know."""
    bounds = PTransform.of(KV[str, int], lambda points: points.with_window(), name="bounds")
    bounds(sums())
    with pytest.raises(ArgumentError, match=r"the collection of with_window\(\) must be grouped"):
        bounds(POINTS)


def test_panes_that_are_retracted_are_refused() -> None:
    """A retraction is in a later pane than its value, so ``with_pane`` is refused for panes that can be retracted."""
    with pytest.raises(
        ArgumentError, match=r"the accumulation before with_pane\(\) must be ACCUMULATING or DISC"
    ):
        sums(Accumulation.RETRACTING).with_pane()
    keyed = sums().with_pane().map(lambda pair: KV(pair[1].index, pair[0].value))
    with pytest.raises(
        ArgumentError, match=r"the accumulation before with_pane\(\) must be ACCUMULATING or DISC"
    ):
        keyed.combine_per_key(Count())
    with pytest.raises(
        ArgumentError, match=r"the accumulation before with_pane\(\) must be ACCUMULATING or DISC"
    ):
        SCORES.with_side(keyed.map(lambda pair: pair.value).as_singleton())
    discarded = sums(Accumulation.DISCARDING).with_pane().map(lambda pair: KV(pair[1].index, pair[0].value))
    discarded.combine_per_key(Sum())


def test_an_explanation_shows_what_elements_are_paired_with() -> None:
    """``explain`` shows the method and the type of the pair."""
    assert "> with_window(): tuple[KV[str, int], WindowBounds]" in explain(sums().with_window())
