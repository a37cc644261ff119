"""Generated pipelines with what their sources did, on which the shard step is held to the reference interpreter.

Some replay records with a watermark policy, in band, as the conformance suite does. The others have timelines that no
policy made, with signals and percentile watermarks, and windows that the suite does not generate: calendar days, and
windows of the user's own, which merge or do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import flowalg_reference as reference
from attrs import frozen
from flowalg_laws.conformance import Refused, Replay, replays
from flowalg_laws.conformance.drawing import differing, full_line
from flowalg_laws.conformance.generated import described
from flowalg_laws.drawing import clock, element
from flowalg_laws.interpreters import put_into
from flowalg_laws.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import crowds, free_timelines, window_fns, windowing_strategies
from flowalg_laws.strategies.pipelines import GROUPINGS, STEPS, Part, Values, pipelines
from flowalg_reference import Mode
from flowalg_shard.local import Cluster, Dropped, Recording, Waking, run
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import CustomWindows, Drop, PCollection, Source, Timeline, Window, WindowFn, WindowingStrategy
from flowalg.time import EventTime, ProcessingTime

MINUTE = 60_000_000


@frozen
class Played:
    """What the sources did: as timelines for the reference, and as the local engine takes it."""

    timelines: dict[Source[object], Timeline[object]]
    inputs: dict[Source[object], Timeline[object] | Recording]
    text: str

    @classmethod
    def replayed(cls, replay: Replay) -> Played:
        """Records, of which the engine makes the watermark itself."""
        inputs: dict[Source[object], Timeline[object] | Recording] = {
            feed.source: Recording(
                feed.batches,
                feed.seen_at,
                feed.policy,
                None if feed.partition is None else feed.partition_of,
                feed.signals,
                replay.ends,
            )
            for feed in replay.feeds
        }
        return cls(replay.timelines, inputs, described(VALUES, replay))

    @classmethod
    def free(cls, timeline: Timeline[Reading]) -> Played:
        """A timeline as it is."""
        lines = [
            f"{clock(one.processing_time)}: {', '.join(map(element, one.elements)) or 'nothing'}, watermark "
            f"{clock(one.watermark)}, outrun {dict(one.percentile_watermarks)}, signals {sorted(one.signals)}"
            for one in timeline
        ]
        return cls({READINGS: timeline}, {READINGS: timeline}, "\n".join(lines))


@frozen
class Pair:
    """A pipeline and what its sources did; how the run is spread, and when the engine wakes."""

    pipeline: PCollection[object]
    played: Played
    cluster: Cluster
    mode: Mode

    def difference(self) -> str:
        """What the step gives otherwise than the reference: panes in order, and drops; nothing if they agree."""
        wanted = reference.run(self.pipeline, self.played.timelines, mode=self.mode)
        waking = Waking.AT_DEADLINES if self.mode is Mode.CONTINUOUS else Waking.WITH_BATCHES
        found = run(self.pipeline, self.played.inputs, cluster=self.cluster, waking=waking)
        panes = differing(list(map(full_line, wanted.panes)), list(map(full_line, found.panes)))
        drops = differing(
            _drop_lines(map(_refused, wanted.dropped)), _drop_lines(map(_counted, found.dropped))
        )
        return "\n".join(one for one in (panes, drops) if one)

    def __str__(self) -> str:
        nothing = Replay(())
        return f"{described(self.pipeline, nothing)}\n{self.played.text}\n{self.cluster}, {self.mode.value}"


Refusal = tuple[Refused, ProcessingTime, int]
"""What was refused, when, and how many."""


def _refused(drop: Drop) -> Refusal:
    return Refused.of(drop), drop.processing_time, 1


def _counted(drop: Dropped) -> Refusal:
    return Refused(drop.key, drop.window, drop.reason), drop.processing_time, drop.count


def _drop_lines(drops: Iterator[Refusal]) -> list[str]:
    counts: Counter[str] = Counter()
    for refused, time, count in drops:
        counts[f"{clock(time)}: {refused}"] += count
    return sorted(f"{line}: {count}" for line, count in counts.items())


def around(point: EventTime, key: object) -> tuple[Window, ...]:
    """The two minutes around an event time, and for one key the whole hour too."""
    start, hour = point - point % MINUTE, point - point % (60 * MINUTE)
    two = Window.of(EventTime(start - MINUTE), EventTime(start + MINUTE))
    whole = Window.of(EventTime(hour), EventTime(hour + 60 * MINUTE))
    return (two, whole) if key == "a" else (two,)


def lasting(point: EventTime, key: object) -> tuple[Window, ...]:
    """Some minutes after an event time, and for one key a few before it."""
    before, after = (0, 3) if key == "a" else (2, 4)
    return (Window.of(EventTime(point - before * MINUTE), EventTime(point + after * MINUTE)),)


def overlapping(windows: Sequence[Window]) -> list[list[Window]]:
    """Windows that overlap, but not those that only touch."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda one: (one.start, one.end)):
        if groups and window.start < max(one.end for one in groups[-1]):
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


def any_windows() -> SearchStrategy[WindowFn]:
    """Every kind of windows, those of the user's own included."""
    own: list[WindowFn] = [CustomWindows("around", around), CustomWindows("lasting", lasting, overlapping)]
    return st.one_of(window_fns(), window_fns(), window_fns(), st.sampled_from(own))


def any_pipelines() -> SearchStrategy[Values]:
    """Pipelines of one grouping or two, in any windows."""
    strategies = windowing_strategies(windows=any_windows())
    few = st.lists(st.sampled_from(STEPS), max_size=2)
    grouping = st.sampled_from(GROUPINGS)
    second = st.none() | st.tuples(few, st.none() | strategies, grouping)
    return st.builds(_made, few, strategies, grouping, second)


Second = tuple[list[Part], "WindowingStrategy | None", Part]


def _made(first: list[Part], strategy: WindowingStrategy, grouping: Part, more: Second | None) -> Values:
    panes = grouping(put_into(_through(VALUES, first), strategy))
    if more is None:
        return panes
    between, own, last = more
    values = _through(panes, between)
    return last(values if own is None else put_into(values, own))


def _through(values: Values, parts: Sequence[Callable[[Values], Values]]) -> Values:
    for part in parts:
        values = part(values)
    return values


def pairs() -> SearchStrategy[Pair]:
    """Pipelines with what their sources did."""
    clusters = st.builds(Cluster, st.integers(1, 3), st.integers(1, 3))
    modes = st.sampled_from([Mode.MICRO_BATCH, Mode.MICRO_BATCH, Mode.CONTINUOUS])
    replayed = st.builds(Pair, pipelines(), replays().map(Played.replayed), clusters, modes)
    played = (free_timelines() | crowds()).map(Played.free)
    return replayed | st.builds(Pair, any_pipelines(), played, clusters, modes)


__all__ = ["Pair", "pairs"]
