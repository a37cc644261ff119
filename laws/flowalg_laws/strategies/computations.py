"""Computations over small integers: with state, late elements, timers of both kinds, and holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import Computation, EventTime, ProcessingTime
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Processor, Timer, Transition
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.data.time import processing_time
from flowalg_laws.kit.key_histories import KeyHistory, KeyInstant
from flowalg_laws.kit.parities import Number, pair_of
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import event_times

_MINUTE = timedelta(minutes=1)

Seen = Observed[str, int]
Held = tuple[datetime, int]


def _add(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(total + seen.value, emit=[total + seen.value])


def _subtract(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(total - seen.value, emit=[total - seen.value])


RUNNING_TOTAL = Computation(initial=0, on_element=_add, on_retraction=_subtract, name="running total")
"""Emits the sum so far at each element."""


@frozen
class Newest:
    """A state: the newest value, of one of several types."""

    value: Number | int | None = None


def _step(state: Newest, seen: Observed[str, Number | int], clocks: Clocks) -> Transition[Newest, int]:
    before = 0 if state.value is None else _int_of(state.value)
    return Transition(Newest(seen.value), emit=[_int_of(seen.value) - before])


def _int_of(value: Number | int) -> int:
    return value if isinstance(value, int) else pair_of(value).value


STEPS_OF_SEVERAL = Computation(
    initial=Newest(), on_element=_step, on_retraction=_step, name="steps of several"
)
"""Emits the difference of each value and the one before, over numbers of several types."""


_END = MAX_TIME.datetime


def _count_in(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(total + seen.value, set=[EventTimer("end", _END)])


def _count_out(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(total - seen.value, set=[EventTimer("end", _END)])


def _emit_total(total: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(None, emit=[total])


TOTAL = Computation(
    initial=0,
    on_element=_count_in,
    on_retraction=_count_out,
    on_timer=_emit_total,
    commutative=True,
    name="total",
)
"""Emits the sum when the input ends; it subtracts what is retracted."""


def _echo(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    behind = clocks.watermark > seen.event_time
    return Transition(number + 1, emit=[1000 * number + 10 * seen.value + 2 * seen.late + behind])


ECHO = Computation(initial=0, on_element=_echo, name="echo")
"""Emits each element with its number, and whether it is late."""


def _restart(last: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(seen.value, set=[EventTimer("silent", seen.event_time + 3 * _MINUTE)])


def _emit_last(last: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(None, emit=[last])


SILENCE = Computation(initial=0, on_element=_restart, on_timer=_emit_last, name="silence")
"""Emits the last value when no element has come for three minutes of event time."""


def _collect(sums: tuple[Held, ...], seen: Seen, clocks: Clocks) -> Transition[tuple[Held, ...], int]:
    end = START + ((seen.event_time - START) // (5 * _MINUTE) + 1) * 5 * _MINUTE
    by_end = dict(sums)
    by_end[end] = by_end.get(end, 0) + seen.value
    return Transition(tuple(sorted(by_end.items())), set=[EventTimer(end.isoformat(), end)])


def _emit_sum(sums: tuple[Held, ...], timer: Timer, clocks: Clocks) -> Transition[tuple[Held, ...], int]:
    by_end = dict(sums)
    return Transition(
        tuple((end, value) for end, value in sums if end != timer.at) or None, emit=[by_end[timer.at]]
    )


_NONE: tuple[Held, ...] = ()

SUMS_OF_FIVE = Computation(
    initial=_NONE, on_element=_collect, on_timer=_emit_sum, commutative=True, name="sums of five minutes"
)
"""Fixed windows of five minutes, as a computation: emits a sum when the watermark reaches its end."""


def _hold_first(held: Held, seen: Seen, clocks: Clocks) -> Transition[Held, int]:
    first = min(held[0], seen.event_time) if held[1] else seen.event_time
    timer = EventTimer("emit", seen.event_time + 4 * _MINUTE)
    return Transition((first, held[1] + abs(seen.value) + 1), set=[timer], hold=first)


def _emit_at_first(held: Held, timer: Timer, clocks: Clocks) -> Transition[Held, int]:
    return Transition(None, emit_at=[(held[0], held[1])])


HOLDING = Computation(initial=(START, 0), on_element=_hold_first, on_timer=_emit_at_first, name="holding")
"""Holds the watermark at the first element, and emits a sum at its event time four minutes after the last one."""


def _start_clock(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(number + 1, set=[ProcessingTimer("beat", clocks.processing_time + 2 * _MINUTE)])


def _beat(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    late = (clocks.processing_time - timer.at) // _MINUTE
    if number > 1:
        return Transition(None, emit=[-late])
    return Transition(number + 1, emit=[late], set=[ProcessingTimer("beat", timer.at + 2 * _MINUTE)])


HEARTBEAT = Computation(initial=0, on_element=_start_clock, on_timer=_beat, name="heartbeat")
"""Emits when no element has come for two minutes of processing time."""


def _renew(number: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    if seen.value < 0:
        return Transition(number, clear=["later", "sooner"])
    return Transition(
        number + seen.value,
        set=[
            EventTimer("later", seen.event_time + 5 * _MINUTE),
            EventTimer("sooner", seen.event_time + _MINUTE),
        ],
    )


def _chain(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    if timer.tag == "sooner" and number % 2:
        again = EventTimer("third", timer.at), EventTimer("later", timer.at)
        return Transition(number + 1, emit=[number], set=again)
    return Transition(number // 2 or None, emit=[number])


CHAINED_TIMERS = Computation(initial=0, on_element=_renew, on_timer=_chain, name="chained timers")
"""Sets several timers, clears them, and sets timers from timers, some due at once."""


def _start_minute(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    minute = START + ((seen.event_time - START) // _MINUTE + 1) * _MINUTE
    return Transition(total + seen.value, set=[EventTimer("minute", minute)])


def _take_back(total: int, seen: Seen, clocks: Clocks) -> Transition[int, int]:
    return Transition(total - seen.value)


def _fill_minute(total: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(0, emit=[total], set=[EventTimer("minute", timer.at + _MINUTE)])


FILLING = Computation(
    initial=0, on_element=_start_minute, on_retraction=_take_back, on_timer=_fill_minute, name="filling"
)
"""Emits a sum for each minute from the first one of a key on, zero for a silent one; it never stops by itself."""

EVENT_TIME: Sequence[Processor[str, int, int]] = (
    TOTAL,
    SILENCE,
    SUMS_OF_FIVE,
    RUNNING_TOTAL,
    HOLDING,
    CHAINED_TIMERS,
    ECHO,
    FILLING,
)


@cached
def event_time_computations() -> SearchStrategy[Processor[str, int, int]]:
    """Computations that do not depend on processing time."""
    return st.sampled_from(EVENT_TIME)


@cached
def computations() -> SearchStrategy[Processor[str, int, int]]:
    """Computations of all kinds."""
    return st.sampled_from((*EVENT_TIME, HEARTBEAT))


def key_histories(values: SearchStrategy[object]) -> SearchStrategy[KeyHistory]:
    """Histories of a key with elements of generated values: late, early, and out of order."""
    elements = st.lists(st.tuples(values, event_times(20)), max_size=4).map(tuple)
    step = st.tuples(st.sampled_from((0, 1, 2, 5)), elements, st.none() | event_times(25))

    def build(
        steps: Sequence[tuple[int, tuple[tuple[object, EventTime], ...], EventTime | None]],
    ) -> KeyHistory:
        clock, watermark, instants = processing_time(START), MIN_TIME, list[KeyInstant]()
        for gap, arrived, reads in steps:
            clock = ProcessingTime(clock + gap * 60_000_000)
            watermark = max(watermark, reads or MIN_TIME)
            instants.append(KeyInstant(clock, arrived, watermark))
        return (*instants, KeyInstant(clock, (), MAX_TIME))

    return st.lists(step, max_size=6).map(build)
