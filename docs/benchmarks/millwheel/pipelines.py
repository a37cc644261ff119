"""The timed computations: a counter with a timer, deduplication, and chains of stages for latency and watermark lag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from docs.benchmarks.arrivals import RECORDS
from docs.benchmarks.stream.data import Reading
from docs.benchmarks.stream.pipelines import READINGS, VALUES
from flowalg import KV, Computation, PCollection
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition

DAY: Final = timedelta(days=1)
SECOND: Final = timedelta(seconds=1)
TEN: Final = 10
WITHIN: Final = timedelta(minutes=5)
"""How long an id is kept."""


def _count(number: int, seen: Observed[int, int], clocks: Clocks) -> Transition[int, int]:
    number += 1
    if number % TEN == 0:
        return Transition(number, emit=[number], clear=["idle"])
    return Transition(number, set=[EventTimer("idle", seen.event_time + DAY)])


def _forget(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
    return Transition(None, emit=[-number])


COUNTED: Final = VALUES.process(Computation(initial=0, on_element=_count, on_timer=_forget, name="counter"))
"""The number of readings of a sensor at each tenth one; a timer, set at all others, forgets it after a day."""

UNIQUE: Final[PCollection[Reading]] = READINGS.deduplicate(by=lambda reading: reading.sensor, within=WITHIN)
"""The first of the readings with the same number, which is in the field of the sensor."""


KEYS: Final = 1_000
DELAY: Final = SECOND / 2
"""The greatest delay between the event time of a record and its arrival."""

Times: TypeAlias = PCollection[KV[int, int]]
"""The times at which records arrived, by a key."""

ARRIVALS: Final[Times] = RECORDS.key_by(lambda record: record.number % KEYS).map_values(
    lambda record: record.arrived
)


def _pass_on(number: int, seen: Observed[int, int], clocks: Clocks) -> Transition[int, int]:
    return Transition(number + 1, emit=[seen.value])


Collected: TypeAlias = tuple[int, datetime]
_NOTHING: Final[Collected] = (0, datetime(1970, 1, 1, tzinfo=UTC))


def _collect(state: Collected, seen: Observed[int, int], clocks: Clocks) -> Transition[Collected, int]:
    count, first = state
    if count:
        earliest = min(first, seen.event_time)
        return Transition((count + 1, earliest), hold=earliest)
    end = EventTimer("end", seen.event_time + SECOND)
    return Transition((1, seen.event_time), set=[end], hold=seen.event_time)


def _emit(state: Collected, timer: Timer, clocks: Clocks) -> Transition[Collected, int]:
    return Transition(None, emit_at=[(state[1], state[0])])


PASS_ON: Final = Computation(initial=0, on_element=_pass_on, name="pass on")
COLLECT: Final = Computation(initial=_NOTHING, on_element=_collect, on_timer=_emit, name="collect")
"""Counts the elements of a second, and emits their number at the first one, at which it holds the watermark."""


def _other_keys(elements: Times) -> Times:
    return elements.map(lambda pair: KV((7 * pair.key + pair.value) % KEYS, pair.value))


ONE_STAGE: Final[Times] = ARRIVALS.process(PASS_ON)
THREE_STAGES: Final[Times] = _other_keys(_other_keys(ONE_STAGE).process(PASS_ON)).process(PASS_ON)
COLLECTED: Final[Times] = _other_keys(_other_keys(ONE_STAGE).process(COLLECT)).process(PASS_ON)
"""Three stages, of which the second collects."""

STAGES: Final[dict[int, Times]] = {1: ONE_STAGE, 3: THREE_STAGES}
"""Chains of stages that pass records on to other keys, by their number."""
