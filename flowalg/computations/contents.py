"""What a stream keeps for a key of a computation, as it is read from a checkpoint."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.computations.transition import Timer
from flowalg.data.views import HasView

K_co = TypeVar("K_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)


@frozen
class WaitingElement(Generic[V_co]):
    """An element that waits for the watermark, as those of computations in order do, or the retraction of one."""

    value: V_co
    event_time: datetime
    retraction: bool = False


@frozen
class KeyContents(HasView, Generic[K_co, V_co, S_co]):
    """What a stream keeps for a key of a computation after a micro-batch.

    ``state`` is ``None`` if the key has no state, but elements that wait. ``timers`` are its pending timers in the
    order in which they fire, those of event time first; ``hold`` is the event time at which it holds the watermark of
    the outputs, and ``waiting`` are the elements that wait for the watermark, in their order.
    """

    key: K_co
    state: S_co | None
    timers: tuple[Timer, ...] = ()
    hold: datetime | None = None
    waiting: tuple[WaitingElement[V_co], ...] = ()
