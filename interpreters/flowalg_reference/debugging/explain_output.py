"""Why a computation emitted an output when it did: the element that it observed, or the timer that fired."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.computations.calls import Effect
from flowalg.computations.transition import Clocks
from flowalg.data.errors import ArgumentError, format_value
from flowalg.data.kv import KV
from flowalg.data.time import event_time, processing_time
from flowalg.data.views import HasView
from flowalg.runs.output import OutputElement
from flowalg_reference.debugging.events import ArrivedElement, SetTimer, event_of
from flowalg_reference.debugging.recording import Recording

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@frozen
class OutputExplanation(HasView, Generic[A_co]):
    """Why a computation emitted an output when it did: one call of one of its functions.

    ``cause`` is the element that it observed or the timer that fired, ``state`` is the state of the key before, and
    ``clocks`` are those that the function received. ``next_state`` is the state after the call; ``None`` if that freed
    the key.
    """

    output: OutputElement[A_co]
    computation: str
    key: object
    cause: ArrivedElement | SetTimer
    clocks: Clocks
    state: object
    next_state: object

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        element = self.output.element
        value = format_value(element.value if isinstance(element, KV) else element)
        now, watermark = processing_time(self.clocks.processing_time), event_time(self.clocks.watermark)
        yield f"{self.computation}: the output {value} of {self.key!r} at {self.output.event_time}"
        yield f"was emitted at {now}, with the watermark at {watermark},"
        if isinstance(self.cause, SetTimer):
            timer = self.cause.timer
            yield f"because the timer {timer.tag!r} fired: {self.cause.clock} has reached {timer.point}."
            yield f"The timer was {self.cause.origin}."
        else:
            waited = ", and waited until the watermark passed it" if self.cause.arrival < now else ""
            yield f"because it observed {self.cause}, which arrived at {self.cause.arrival}{waited}."
        if self.output.processing_time > now:
            yield f"The output waited for a side input until {self.output.processing_time}."
        freed = self.next_state is None
        after = "the key was freed" if freed else f"it became {format_value(self.next_state)}"
        yield f"The state was {format_value(self.state)}; {after}."


def explain_output(
    recording: Recording, recorded: OutputElement[object], effect: Effect | None, output: OutputElement[A]
) -> OutputExplanation[A]:
    """Returns the explanation of an output that a recording has as ``recorded``, with the effect of its call.

    Raises ``ArgumentError`` for an output that no computation has emitted.
    """
    if effect is None:
        why = f"it is an element of a source, which has arrived at {recorded.processing_time}"
        raise ArgumentError("output", output, "an output of a grouping or of a computation", why=why)
    call = recording.call_of(effect)
    after = effect.after
    return OutputExplanation(
        output,
        call.calls.label,
        call.key,
        event_of(recording, call),
        Clocks(call.clocks[0].datetime, call.clocks[1].datetime),
        call.state,
        None if after is None else after.state,
    )
