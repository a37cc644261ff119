"""How the shards of a stage learn the clocks: from in-band reports, which are broadcast to all shards.

Elements flow into a stage from its *upstreams*: sources, and stages before it. Each partition of an input sends one
report for each upstream that it has rows of. Every shard receives the reports of all partitions and advances its clocks
by them, so all shards have the same clocks without asking each other. Laws: reports merge in any order and division; a
stage behind other stages receives what they would have reported to it directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from attrs import asdict, evolve, field, fields_dict, frozen

from flowalg.data.errors import CheckpointError, errors_of
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.runs.clocks import BEGINNING, Clocks, minimum, raise_idle
from flowalg.runs.signals import AnySignal
from flowalg.watermarks import ClockSummary, SourceClock, WatermarkPolicy
from flowalg.watermarks.summaries import PartitionClock
from flowalg_shard.clocks.ahead import warn_if_ahead
from flowalg_shard.clocks.steady_clock import SteadyClock


@frozen
class FromSource:
    """A source as an upstream: its name, and the policy that derives its watermark from its records.

    With ``at_batch_time``, the processing time of each record is that of its micro-batch. ``publishes`` says that rows
    may carry watermarks, and ``ends`` that one may end the input: then further elements are an error. ``together`` are
    the names of the sources that some node reads together with it: while it is idle, it follows them.
    """

    policy: WatermarkPolicy
    name: str = ""
    at_batch_time: bool = field(default=False, kw_only=True)
    publishes: bool = field(default=False, kw_only=True)
    ends: bool = field(default=False, kw_only=True)
    together: frozenset[str] = field(default=frozenset(), kw_only=True)

    @property
    def follows(self) -> frozenset[str]:
        """The names of the sources that it follows while it is idle: none if it is never idle."""
        return frozenset() if self.policy.idle_micros is None else self.together

    @property
    def observes_times(self) -> bool:
        """Whether its clock needs more of each record than its event time: if times differ, or if more counts."""
        policy = self.policy
        return (
            not self.at_batch_time
            or self.publishes
            or policy.observes_lags
            or policy.observes_event_times
            or policy.reached_delay is not None
            or policy.max_ahead_micros is not None
        )


@frozen
class FromStage:
    """A stage as an upstream: its shards report its clocks and their holds.

    ``number`` is that of the stage in the pipeline, for engines that number stages themselves.
    """

    number: int | None = None


Upstream: TypeAlias = FromSource | FromStage


def read_together(
    sources: Mapping[str, Upstream], together: Mapping[str, frozenset[str]]
) -> dict[str, Upstream]:
    """Returns sources that know, by name, which others some node reads together with them."""
    return {
        name: evolve(upstream, together=together.get(name, frozenset()))
        if isinstance(upstream, FromSource)
        else upstream
        for name, upstream in sources.items()
    }


def sources_followed(upstreams: Iterable[Upstream], sources: Mapping[str, Upstream]) -> tuple[str, ...]:
    """Returns the names of the sources whose clocks a stage needs besides those of its upstreams.

    They are those that an idle one of its sources follows, and those that these follow in turn.
    """
    own = {upstream.name: upstream for upstream in upstreams if isinstance(upstream, FromSource)}
    needed: dict[str, None] = {}
    pending = list(own.values())
    while pending:
        for name in sorted(pending.pop().follows):
            upstream = sources[name]
            if name not in own and name not in needed and isinstance(upstream, FromSource):
                needed[name] = None
                pending.append(upstream)
    return tuple(needed)


@frozen
class SourceReport:
    """The contribution of some rows of a source to its clock, their signals, and the number of elements.

    ``horizon`` is the instant after the greatest event time of the elements, those included that the clock ignores.
    """

    clock: ClockSummary = field(factory=ClockSummary)
    signals: frozenset[AnySignal] = frozenset()
    elements: int = 0
    horizon: EventTime = MIN_TIME

    def merge(self, other: SourceReport) -> SourceReport:
        """Returns the report of the rows of both."""
        return SourceReport(
            self.clock.merge(other.clock),
            self.signals | other.signals,
            self.elements + other.elements,
            max(self.horizon, other.horizon),
        )


@frozen
class StageReport:
    """The report of some shards of a stage: the clocks, which are the same for all, and the least of their holds."""

    clocks: Clocks
    hold: EventTime = MAX_TIME


Report: TypeAlias = SourceReport | StageReport
Reports: TypeAlias = Mapping[int, Report]
"""Reports by the number of the upstream; an upstream without rows has none."""


@frozen
class UntimedReport:
    """The report of rows of a source that are all at the time of their micro-batch, without that time.

    ``latest_events`` has the greatest event time of each partition with records.
    """

    latest_events: Mapping[str, EventTime] = field(factory=dict)
    ended: bool = False
    signals: frozenset[AnySignal] = frozenset()
    elements: int = 0

    def at(self, now: ProcessingTime) -> SourceReport:
        """Returns the report, given the time."""
        partitions = {name: PartitionClock(latest, now) for name, latest in self.latest_events.items()}
        horizon = EventTime(max((latest + 1 for latest in self.latest_events.values()), default=MIN_TIME))
        return SourceReport(
            ClockSummary(partitions, now, ended=self.ended), self.signals, self.elements, horizon
        )


def at_time(reports: Mapping[int, Report | UntimedReport], now: ProcessingTime | None) -> Reports:
    """Returns the reports of rows, given the time of their micro-batch, which is ``None`` if all rows have times."""
    timed: dict[int, Report] = {}
    for number, report in reports.items():
        if isinstance(report, UntimedReport):
            assert now is not None, "rows without times come with the time of their micro-batch"
            report = report.at(now)
        timed[number] = report
    return timed


def merge_reports(several: Iterable[Reports]) -> dict[int, Report]:
    """Returns the reports of several partitions as one."""
    merged: dict[int, Report] = {}
    for reports in several:
        for number, report in reports.items():
            merged[number] = _merge(merged[number], report) if number in merged else report
    return merged


def _merge(one: Report, other: Report) -> Report:
    match one, other:
        case SourceReport(), SourceReport():
            return one.merge(other)
        case StageReport(), StageReport():
            return StageReport(one.clocks, min(one.hold, other.hold))
        case _:
            raise AssertionError("an upstream is a source or a stage")


UpstreamClock: TypeAlias = SourceClock | Clocks
"""The clock of a source, or the output clocks of a stage."""


@frozen
class InputClocks:
    """The clocks at one input of a stage, and those of each of its upstreams.

    ``sources`` has the clocks of all sources of the stage by name, in which idle ones follow others; it is empty if
    none can be idle. ``reading`` is what the machine's clock read, if elements are at the time of their micro-batch.
    """

    upstreams: tuple[UpstreamClock, ...]
    clocks: Clocks = BEGINNING
    sources: Mapping[str, Clocks] = field(factory=dict)
    reading: ProcessingTime | None = None

    def __getstate__(self) -> dict[str, object]:
        return asdict(self, recurse=False)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        # Checkpoints of before have neither sources nor a reading.
        for name in fields_dict(InputClocks):
            object.__setattr__(self, name, state.get(name, {} if name == "sources" else None))

    @classmethod
    def initial(cls, upstreams: Sequence[Upstream]) -> InputClocks:
        """Returns the clocks before the first instant."""
        return cls(
            tuple(
                upstream.policy.start() if isinstance(upstream, FromSource) else BEGINNING
                for upstream in upstreams
            )
        )


def advance_clocks(
    inputs: Sequence[Sequence[Upstream]],
    before: Sequence[InputClocks],
    reports: Sequence[Reports],
    followed: Sequence[Upstream] = (),
    clock: SteadyClock | None = None,
) -> tuple[InputClocks, ...]:
    """Returns the clocks at each input of a stage after an instant, from the reports at each input.

    The processing time of the instant is the latest in any report, and that of ``clock`` if there is one. A signal in
    any report is given at every input. While a source is idle, its clocks follow those of the sources that it is read
    together with: if the stage does not read them, they are ``followed``, and ``before`` and ``reports`` have theirs in
    the end.
    """
    everything = [*inputs, followed] if followed else inputs
    received = [report for at_input in reports for report in at_input.values()]
    now = max([before[0].clocks.processing_time, *(time for report in received for time in _times(report))])
    if clock is not None:
        now = max(now, clock.time)
    reading = before[0].reading if clock is None else clock.reading
    own = [report for at_input in reports[: len(inputs)] for report in at_input.values()]
    signals = frozenset[AnySignal]().union(*map(_signals, own))
    advanced = [
        tuple(
            _advance_upstream(upstream, clock, at_input.get(number), now)
            for number, (upstream, clock) in enumerate(zip(upstreams, input_clocks.upstreams, strict=True))
        )
        for upstreams, input_clocks, at_input in zip(everything, before, reports, strict=True)
    ]
    sources = _raised(everything, advanced, before[0].sources)
    return tuple(
        evolve(
            _input_clocks(upstreams, after, input_clocks.clocks, at_input, sources, now, signals),
            reading=reading,
        )
        for upstreams, after, input_clocks, at_input in zip(
            everything, advanced, before, reports, strict=True
        )
    )


def _raised(
    inputs: Sequence[Sequence[Upstream]],
    advanced: Sequence[Sequence[UpstreamClock]],
    before: Mapping[str, Clocks],
) -> Mapping[str, Clocks]:
    """Returns the clocks of the sources by name, if one of them may be idle."""
    clocks: dict[str, Clocks] = {}
    idle: set[str] = set()
    together: dict[str, frozenset[str]] = {}
    for upstreams, after in zip(inputs, advanced, strict=True):
        for upstream, clock in zip(upstreams, after, strict=True):
            if isinstance(upstream, FromSource) and isinstance(clock, SourceClock):
                clocks[upstream.name] = _clocks_of(upstream, clock)
                together[upstream.name] = upstream.follows
                if upstream.policy.is_idle(clock):
                    idle.add(upstream.name)
    return raise_idle(clocks, before, idle, together) if any(together.values()) else {}


def _input_clocks(
    upstreams: Sequence[Upstream],
    after: tuple[UpstreamClock, ...],
    before: Clocks,
    reports: Reports,
    sources: Mapping[str, Clocks],
    now: ProcessingTime,
    signals: frozenset[AnySignal],
) -> InputClocks:
    read = [
        sources[upstream.name]
        if isinstance(upstream, FromSource) and upstream.name in sources
        else _clocks_of(upstream, clock)
        for upstream, clock in zip(upstreams, after, strict=True)
    ]
    clocks = minimum(read, before)
    horizon = max([before.horizon, *map(_horizon, reports.values())])
    return InputClocks(after, evolve(clocks, processing_time=now, signals=signals, horizon=horizon), sources)


def _advance_upstream(
    upstream: Upstream, before: UpstreamClock, report: Report | None, now: ProcessingTime
) -> UpstreamClock:
    match upstream, before, report:
        case FromSource(policy=policy, name=name), SourceClock(), SourceReport(clock=summary):
            _require_none_after_end(upstream, before, report)
            with errors_of(f"source {name!r}"):
                after = policy.advance(before, summary, now)
            warn_if_ahead(name, policy, before, after)
            return after
        case FromSource(policy=policy), SourceClock(), None:
            return policy.advance(before, ClockSummary(), now)
        case FromStage(), Clocks(), StageReport(clocks=clocks, hold=hold):
            return clocks.with_hold(hold, before)
        case FromStage(), Clocks(), None:
            return before
        case _:
            raise AssertionError("an upstream is a source or a stage")


def _require_none_after_end(source: FromSource, before: SourceClock, report: SourceReport) -> None:
    """Raises ``CheckpointError`` for elements of a source whose input has ended in an earlier instant."""
    if source.ends and report.elements and before.watermark == MAX_TIME:
        at = before.processing_time.datetime.isoformat()
        raise CheckpointError(
            f"source {source.name!r}: by the state of the query its input has ended, since its watermark was at the "
            f"end of time at {at}, and now it has {report.elements} further elements, which would all be late; start "
            "the query with a new checkpoint, or take these elements away"
        )


def _clocks_of(upstream: Upstream, clock: UpstreamClock) -> Clocks:
    match upstream, clock:
        case FromSource(), SourceClock():
            return Clocks(clock.processing_time, clock.watermark, clock.percentiles)
        case FromStage(), Clocks():
            return clock
        case _:
            raise AssertionError("an upstream is a source or a stage")


def _times(report: Report) -> tuple[ProcessingTime, ...]:
    if isinstance(report, StageReport):
        return (report.clocks.processing_time,)
    latest = report.clock.latest_processing
    return () if latest is None else (latest,)


def _horizon(report: Report) -> EventTime:
    return report.horizon if isinstance(report, SourceReport) else report.clocks.horizon


def _signals(report: Report) -> frozenset[AnySignal]:
    return report.signals if isinstance(report, SourceReport) else report.clocks.signals
