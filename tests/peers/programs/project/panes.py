"""Panes of flowalg: triggers, lateness, accumulation, several groupings, sessions, joins, in two interpreters."""

from __future__ import annotations

from collections.abc import Iterable

from feed import (
    COMPOSITE,
    CORRECTION,
    JOINED,
    LATE,
    LATENESS,
    SESSIONS,
    TOO_LATE,
    WINDOW,
    Step,
    print_cells,
)
from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference
from scores import SECOND, START, Score, points, scores

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    PCollection,
    Run,
    Sum,
    Timeline,
)
from flowalg import Sessions as SessionWindows

corrected = AtWatermark().with_late_firings(AtCount(1))


def timeline(steps: Iterable[Step]) -> Timeline[Score]:
    """Returns the timeline of a feed, with one instant for each step."""
    line = Timeline[Score]()
    for number, (key, value, at) in enumerate(steps):
        when, now = START + at * SECOND, START + number * SECOND
        line = line.at(now, watermark=when) if key is None else line.at(now, Score(key, value, when))
    return line


def run(pipeline: PCollection, steps: Iterable[Step]) -> Run:
    """Returns the run of the local engine; the reference must have the same panes and drops."""
    inputs = {scores: timeline(steps)}
    local, expected = PolarsStreaming().run(pipeline, inputs), Reference().run(pipeline, inputs)
    assert local.panes == expected.panes
    return local


def signed(pane) -> str:
    """Returns the sign of a pane: ``-`` for a retraction."""
    return "-" if pane.change.value == "retraction" else "+"


def seconds(time) -> int:
    """Returns the seconds after the start."""
    return round((time.datetime - START) / SECOND)


def composite() -> object:
    """Early, on-time and late panes of one window."""
    trigger = AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1))
    windows = points.window(
        FixedWindows(WINDOW * SECOND), trigger=trigger, allowed_lateness=LATENESS * SECOND
    )
    return [[pane.timing.value, pane.value] for pane in run(windows.combine_per_key(Sum()), COMPOSITE).panes]


def by_minute(accumulation: Accumulation):
    """Returns the sums by minute."""
    windows = points.window(
        FixedWindows(WINDOW * SECOND),
        trigger=corrected,
        accumulation=accumulation,
        allowed_lateness=LATENESS * SECOND,
    )
    return windows.combine_per_key(Sum())


def late() -> object:
    """An on-time pane and a late one."""
    return [pane.value for pane in run(by_minute(Accumulation.ACCUMULATING), LATE).panes]


def modes() -> object:
    """The panes in the three modes."""
    return {
        mode.value: [f"{signed(pane)}{pane.value}" for pane in run(by_minute(mode), LATE[:-1]).panes]
        for mode in Accumulation
    }


def drops() -> object:
    """The panes, and what the local engine keeps of two elements that one micro-batch drops."""
    too_late = [Score(key, value, START + at * SECOND) for key, value, at in TOO_LATE[2:4]]
    line = timeline(TOO_LATE[:2]).at(START + 9 * SECOND, *too_late)
    run = PolarsStreaming().run(by_minute(Accumulation.ACCUMULATING), {scores: line})
    return {
        "panes": [pane.value for pane in run.panes],
        "dropped": [f"{drop.count} {drop.reason.value} of {drop.key}" for drop in run.dropped],
    }


def chain() -> object:
    """The number of players by their total, before and after a late correction."""
    counts = by_minute(Accumulation.RETRACTING).key_by(lambda total: total.value).combine_per_key(Count())
    return [
        {str(final.key): final.value for final in run(counts, steps).final_values()}
        for steps in (CORRECTION[:3], CORRECTION)
    ]


def sessions() -> object:
    """The panes of sessions that a late element joins."""
    windows = points.window(
        SessionWindows(WINDOW * SECOND),
        trigger=corrected,
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=LATENESS * SECOND,
    )
    return [
        [signed(pane), seconds(pane.window.start), seconds(pane.window.end), pane.value]
        for pane in run(windows.combine_per_key(Sum()), SESSIONS).panes
    ]


def joins() -> object:
    """The panes of a left join by minute, with a late match."""

    def side(name: str):
        return (
            scores.filter(lambda score: score.player == name)
            .key_by(lambda score: "A1")
            .map_values(lambda score: score.points)
            .window(
                FixedWindows(WINDOW * SECOND),
                trigger=corrected,
                accumulation=Accumulation.RETRACTING,
                allowed_lateness=LATENESS * SECOND,
            )
        )

    joined = run(side("order").left_join(side("payment")), JOINED)
    return [[signed(pane), *pane.value] for pane in joined.panes]


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
