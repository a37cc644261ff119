"""Zeitgeist as a pipeline: counts per second, a model of each query, and a detector of spikes and dips.

The counts are a grouping into windows of a second (the window counter of MillWheel, Figure 2); the model and the
detector are a computation. A dip is a lack of data, which no element can report: a timer does.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from attrs import evolve, frozen

from flowalg import KV, Computation, Count, FixedWindows, PCollection
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition
from zeitgeist.searches import SECOND, Kind, searches

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


@frozen
class Model:
    """What is known of a query: the usual searches per second, how many seconds it has, and the current anomaly."""

    mean: float = 0.0
    seconds: int = 0
    last: datetime | None = None
    current: Kind | None = None

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

    def learn(self, count: int, second: datetime) -> Model:
        """Returns the model after a usual second."""
        weight = max(WEIGHT, 1 / (self.seconds + 1))
        return evolve(
            self,
            mean=self.mean + (count - self.mean) * weight,
            seconds=self.seconds + 1,
            last=second,
            current=None,
        )


def observe_count(model: Model, seen: Observed[str, int], clocks: Clocks) -> Transition[Model, Alert]:
    """Judges the count of a second, or learns from it; a silence from then on will fire a timer."""
    second = seen.event_time.replace(microsecond=0)
    if model.is_spike(seen.value):
        alerts = [] if model.current is Kind.SPIKE else [Alert(Kind.SPIKE, second, model.mean)]
        after = evolve(model, last=second, current=Kind.SPIKE)
    else:
        alerts, after = [], model.learn(seen.value, second)
    return Transition(
        after,
        emit=alerts,
        set=[EventTimer(SILENCE, second + SECOND + after.patience), EventTimer(FORGET, second + FORGOTTEN)],
    )


def observe_silence(model: Model, timer: Timer, clocks: Clocks) -> Transition[Model, Alert]:
    """Reports a dip, or forgets a query."""
    if timer.tag == FORGET or model.last is None:
        return Transition(None)
    alerts = [Alert(Kind.DIP, model.last + SECOND, model.mean)] if model.judges else []
    return Transition(evolve(model, current=Kind.DIP), emit=alerts)


detector: Final = Computation(
    initial=Model(), on_element=observe_count, on_timer=observe_silence, name="spikes and dips"
)

counts: Final[PCollection[KV[str, int]]] = (
    searches.key_by(lambda search: search.query)
    .window(FixedWindows(SECOND), allowed_lateness=SECOND)
    .combine_per_key(Count())
)
"""The number of searches for each query in each second with any."""

alerts: Final[PCollection[KV[str, Alert]]] = counts.process(detector, in_order=True)
