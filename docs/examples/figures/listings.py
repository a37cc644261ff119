"""The pipelines of the figures, written like the papers' listings.

Each function is one listing. The page prints its result next to the picture, and its docstring as the description.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from figures.listing import ARRIVALS, SCORES, Build, Listing, Scores
from figures.published import Datum
from flowalg import (
    Accumulation,
    AtCount,
    AtPeriod,
    AtWatermark,
    FixedWindows,
    GlobalWindows,
    Repeat,
    SequenceOf,
    Sessions,
    Source,
    Sum,
)
from flowalg.triggers import RepeatUntil

LISTINGS: Final[dict[str, Listing]] = {}
"""The pipelines by the id of their figure."""

_DATAFLOW: Final = "The Dataflow Model"
_STREAMING: Final = "Streaming 102"


def _figure(paper: str, place: str, title: str, *, data: Source[Datum] = SCORES) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        name = build.__name__.replace("_", "-")
        LISTINGS[name] = Listing(name, paper, place, title, build, data)
        return build

    return add


@_figure(_DATAFLOW, "Figure 6", "Classic batch")
def dataflow_6(scores: Scores) -> Scores:
    """The watermark waits for the whole input, so there is one pane with the total."""
    return scores.combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 7", "Global window, every minute, accumulating")
def dataflow_7(scores: Scores) -> Scores:
    """Every minute a pane has the sum of all data observed so far, and replaces the last one."""
    return scores.window(
        GlobalWindows(),
        trigger=Repeat(AtPeriod(timedelta(minutes=1))),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 8", "Global window, every minute, discarding")
def dataflow_8(scores: Scores) -> Scores:
    """The panes fire at the same times, each with only its own minute's data: windows of processing time."""
    return scores.window(
        GlobalWindows(),
        trigger=Repeat(AtPeriod(timedelta(minutes=1))),
        accumulation=Accumulation.DISCARDING,
    ).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 9", "Global window, every two data, discarding")
def dataflow_9(scores: Scores) -> Scores:
    """Every second datum fires a pane, whenever it arrives: windows of tuples."""
    return scores.window(
        GlobalWindows(),
        trigger=Repeat(AtCount(2)),
        accumulation=Accumulation.DISCARDING,
    ).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 10", "Fixed windows, batch")
def dataflow_10(scores: Scores) -> Scores:
    """A batch engine sums each window once, at the end of the input; windows fire in the order of event time."""
    return scores.window(FixedWindows(timedelta(minutes=2))).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 11", "Fixed windows, micro-batch")
def dataflow_11(scores: Scores) -> Scores:
    """In each one-minute batch the watermark passes everything; the windows with new data fire again."""
    return scores.window(FixedWindows(timedelta(minutes=2))).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 12", "Fixed windows, streaming")
def dataflow_12(scores: Scores) -> Scores:
    """Each window fires when the watermark passes its end. The 9 is late, and the first window fires again."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=Repeat(AtWatermark()),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 13", "Fixed windows, streaming, with partial results")
def dataflow_13(scores: Scores) -> Scores:
    """Until the watermark passes the end, there is a pane each minute. A window without changes has no on-time pane."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=SequenceOf(
            RepeatUntil(AtPeriod(timedelta(minutes=1)), AtWatermark()),
            Repeat(AtWatermark()),
        ),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_DATAFLOW, "Figure 14", "Sessions, retracting")
def dataflow_14(scores: Scores) -> Scores:
    """The 8 merges the sessions of 7 and 10: both are retracted and replaced by 25. The 9 merges that with 5."""
    return scores.window(
        Sessions(timedelta(minutes=1)),
        trigger=SequenceOf(
            RepeatUntil(AtPeriod(timedelta(minutes=1)), AtWatermark()),
            Repeat(AtWatermark()),
        ),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 2", "Classic batch")
def streaming102_2(scores: Scores) -> Scores:
    """One pane has the total, at the end of the input."""
    return scores.combine_per_key(Sum())


@_figure(_STREAMING, "Figure 4", "Fixed windows, batch")
def streaming102_4(scores: Scores) -> Scores:
    """Each window has one pane, at the end of the input."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark(),
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 6, left", "Fixed windows, perfect watermark")
def streaming102_6_perfect(scores: Scores) -> Scores:
    """The watermark waits for the 9, so every window fires once, with all of its data, and later than it could."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark(),
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 6, right", "Fixed windows, heuristic watermark")
def streaming102_6_heuristic(scores: Scores) -> Scores:
    """The watermark is wrong about the 9, and the trigger fires once: the 9 is dropped, and 5 remains wrong."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark(),
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 7, left", "Early and late firings, perfect watermark")
def streaming102_7_perfect(scores: Scores) -> Scores:
    """The watermark waits for the 9, so nothing is late; early panes have partial results of slow windows."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 7, right", "Early and late firings, heuristic watermark")
def streaming102_7_heuristic(scores: Scores) -> Scores:
    """On-time panes fire sooner than with the perfect watermark; the late pane corrects the first window."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 8", "One minute of allowed lateness")
def streaming102_8(scores: Scores) -> Scores:
    """The 6 is late and accepted. A window closes when the watermark is a minute past its end, so the 9 is dropped."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
        allowed_lateness=timedelta(minutes=1),
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 9", "Early and late firings, discarding")
def streaming102_9(scores: Scores) -> Scores:
    """Each pane has the data since the last one, so the panes of a window add up to its sum."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 10", "Early and late firings, retracting")
def streaming102_10(scores: Scores) -> Scores:
    """Each pane follows the retraction of the one before, so all that is emitted adds up to the sum of the window."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 13, left", "Windows of event time")
def streaming102_13_left(scores: Scores) -> Scores:
    """Windows of event time: for every order of arrival, the last panes are 14, 22, 3 and 12."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 13, right", "Windows of event time, another order of arrival")
def streaming102_13_right(scores: Scores) -> Scores:
    """Another order of arrival has other early panes and the same last ones. The third window begins with a late 3."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 14, left", "Windows of processing time, by trigger")
def streaming102_14_left(scores: Scores) -> Scores:
    """One window for all of event time, cut every two minutes of processing time: the order decides the sums."""
    return scores.window(
        GlobalWindows(),
        trigger=Repeat(AtPeriod(timedelta(minutes=2))),
        accumulation=Accumulation.DISCARDING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 14, right", "Windows of processing time, by trigger, another order")
def streaming102_14_right(scores: Scores) -> Scores:
    """Another order of arrival has other sums. The figure prints 36 for the second pane: it omits the 4 of 12:07:53."""
    return scores.window(
        GlobalWindows(),
        trigger=Repeat(AtPeriod(timedelta(minutes=2))),
        accumulation=Accumulation.DISCARDING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 15, left", "Windows of processing time, by ingress time", data=ARRIVALS)
def streaming102_15_left(scores: Scores) -> Scores:
    """The source has ``INGRESS_TIME``, so data and watermark follow the diagonal, and nothing is late."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark(),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(
    _STREAMING,
    "Figure 15, right",
    "Windows of processing time, by ingress time, another order",
    data=ARRIVALS,
)
def streaming102_15_right(scores: Scores) -> Scores:
    """Another order of arrival has other sums. The figure prints 36 for the second pane: it omits the 4 of 12:07:53."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark(),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 17", "Sessions, retracting, with early and late firings")
def streaming102_17(scores: Scores) -> Scores:
    """Sessions merge when data arrive between them; their earlier panes are retracted in the same instant."""
    return scores.window(
        Sessions(timedelta(minutes=1)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Figure 17, adjusted", "Sessions that touch nowhere")
def streaming102_17_fudged(scores: Scores) -> Scores:
    """The 7 is two seconds earlier and the 9 one second, so that no session ends exactly where another begins."""
    return scores.window(
        Sessions(timedelta(minutes=1)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Table 1, first column", "Discarding")
def streaming102_table1_discarding(scores: Scores) -> Scores:
    """Of the second window: each pane has its own data. The last is 8, and all add up to 22."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Table 1, second column", "Accumulating")
def streaming102_table1_accumulating(scores: Scores) -> Scores:
    """Of the second window: the last pane is right, and all add up to 43 (the paper prints 51)."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())


@_figure(_STREAMING, "Table 1, third column", "Accumulating and retracting")
def streaming102_table1_accumulating_retracting(scores: Scores) -> Scores:
    """Of the second window: the last pane is right, and with the retractions all add up to 22."""
    return scores.window(
        FixedWindows(timedelta(minutes=2)),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=1)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
    ).combine_per_key(Sum())
