"""Zeitgeist as its paper has it (MillWheel, Figures 2, 3 and 9): three computations, with typed streams between them.

A window counter counts the searches of each second, a model calculator learns how many are usual, and a detector
compares both streams. A dip is a lack of data, which no element can report: a timer does.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from attrs import evolve, frozen

from flowalg import KV, Computation, PCollection, flatten
from flowalg.computations import Clocks, EventTimer, Late, Observed, Timer, Transition
from zeitgeist.searches import SECOND, Kind, Search, searches

LEARNING: Final = 60
"""The number of seconds from which a model learns before it judges."""
WEIGHT: Final = 1 / 20
"""The weight of the newest second in the mean of a model."""
DEVIATIONS: Final = 5.0
"""A second is a spike if its count is this many standard deviations above the mean."""
SURPRISE: Final = 1e-6
"""A silence is a dip if a usual stretch of this length has no search with a smaller probability than this."""
FORGOTTEN: Final = timedelta(hours=1)
"""A query without a search for this long is forgotten."""

SILENCE: Final = "silence"
FORGET: Final = "forget"


@frozen
class Alert:
    """A spike or a dip that begins at ``start``; ``expected`` is the usual number of searches per second."""

    kind: Kind
    start: datetime
    expected: float


# The window counter


@frozen
class Bucket:
    """The number of searches in the second that begins at ``start``."""

    start: datetime
    count: int


@frozen
class Buckets:
    """The seconds of a query that are not complete, in order."""

    open: list[Bucket]


def count_search(state: Buckets, seen: Observed[str, Search], clocks: Clocks) -> Transition[Buckets, Bucket]:
    """Updates the running total of a second, and sets a timer for when all of its searches have been observed."""
    start = seen.event_time.replace(microsecond=0)
    counts = {bucket.start: bucket.count for bucket in state.open}
    counts[start] = counts.get(start, 0) + 1
    buckets = [Bucket(begin, counts[begin]) for begin in sorted(counts)]
    return Transition(Buckets(buckets), set=[EventTimer(start.isoformat(), start + SECOND)])


def emit_bucket(state: Buckets, timer: Timer, clocks: Clocks) -> Transition[Buckets, Bucket]:
    """Emits a second, at the event time of its end."""
    complete = [bucket for bucket in state.open if bucket.start.isoformat() == timer.tag]
    rest = [bucket for bucket in state.open if bucket.start.isoformat() != timer.tag]
    return Transition(Buckets(rest) if rest else None, emit=complete)


window_counter: Final = Computation(
    initial=Buckets([]), on_element=count_search, on_timer=emit_bucket, name="window counter"
)


# The model calculator


@frozen
class Model:
    """What is usual for a query: its searches per second, and from how many seconds this has been learnt."""

    mean: float = 0.0
    seconds: int = 0

    @property
    def judges(self) -> bool:
        """Whether it has learnt enough."""
        return self.seconds >= LEARNING

    def is_spike(self, count: int) -> bool:
        """Whether a second with this count is a spike: the variance of a Poisson distribution is its mean."""
        return self.judges and count > self.mean + DEVIATIONS * math.sqrt(max(self.mean, 1.0))

    @property
    def patience(self) -> timedelta:
        """The silence that is a dip, in whole seconds: without anomaly, it has the probability ``SURPRISE``."""
        return math.ceil(-math.log(SURPRISE) / max(self.mean, 0.01)) * SECOND

    def learn(self, count: int) -> Model:
        """Returns the model after a second; a spike does not change it."""
        if self.is_spike(count):
            return self
        weight = max(WEIGHT, 1 / (self.seconds + 1))
        return Model(self.mean + (count - self.mean) * weight, self.seconds + 1)


def learn_bucket(model: Model, seen: Observed[str, Bucket], clocks: Clocks) -> Transition[Model, Model]:
    """Learns from a second, and emits the new model."""
    after = model.learn(seen.value.count)
    return Transition(after, emit=[after], set=[EventTimer(FORGET, seen.event_time + FORGOTTEN)])


def forget_model(model: Model, timer: Timer, clocks: Clocks) -> Transition[Model, Model]:
    """Forgets a query."""
    return Transition(None)


model_calculator: Final = Computation(
    initial=Model(), on_element=learn_bucket, on_timer=forget_model, name="model calculator"
)


# The spike and dip detector


@frozen
class Watch:
    """The state of the detector: the newest model, the last second with searches, and the current anomaly."""

    model: Model = Model()
    last: datetime | None = None
    current: Kind | None = None


def observe(state: Watch, seen: Observed[str, Bucket | Model], clocks: Clocks) -> Transition[Watch, Alert]:
    """Keeps a model, or judges a second by the model before it; a silence from then on will fire a timer."""
    match seen.value:
        case Model() as model:
            return Transition(evolve(state, model=model))
        case Bucket(start=second, count=count):
            return _judge(state, second, count, seen.event_time)


def _judge(state: Watch, second: datetime, count: int, end: datetime) -> Transition[Watch, Alert]:
    model, is_spike = state.model, state.model.is_spike(count)
    begins = is_spike and state.current is not Kind.SPIKE
    silent = end + model.patience + timedelta.resolution  # after the count of the second that ends then
    return Transition(
        Watch(model, second, Kind.SPIKE if is_spike else None),
        emit=[Alert(Kind.SPIKE, second, model.mean)] if begins else [],
        set=[EventTimer(SILENCE, silent), EventTimer(FORGET, end + FORGOTTEN)],
    )


def observe_silence(state: Watch, timer: Timer, clocks: Clocks) -> Transition[Watch, Alert]:
    """Reports a dip, or forgets a query."""
    if timer.tag == FORGET or state.last is None:
        return Transition(None)
    alerts = [Alert(Kind.DIP, state.last + SECOND, state.model.mean)] if state.model.judges else []
    return Transition(evolve(state, current=Kind.DIP), emit=alerts)


detector: Final = Computation(
    initial=Watch(), on_element=observe, on_timer=observe_silence, name="spike and dip detector"
)


window_counts: Final[PCollection[KV[str, Bucket]]] = searches.key_by(lambda search: search.query).process(
    window_counter, late=Late.DROP
)
"""The number of searches for each query in each second with any."""

model_updates: Final[PCollection[KV[str, Model]]] = window_counts.process(model_calculator, in_order=True)
"""What is usual for each query, after each second with searches."""

alerts: Final[PCollection[KV[str, Alert]]] = flatten(window_counts, model_updates).process(
    detector, in_order=True
)
"""The spikes and dips. Of one event time, a second is observed before the model that has learnt from it."""
