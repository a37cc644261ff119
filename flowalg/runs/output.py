"""What an output of a pipeline gives: the panes of a grouping, or elements where nothing has grouped them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from attrs import field, frozen

from flowalg.data.errors import ElementError, UnsupportedError
from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.data.values import sort_key
from flowalg.data.views import HasView
from flowalg.runs.current import WindowedValue, final_values
from flowalg.runs.panes import Pane

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
K = TypeVar("K")
V = TypeVar("V")


@frozen
class OutputElement(HasView, Generic[A_co]):
    """An element that no grouping emitted, in the output of a pipeline (SEMANTICS section 14).

    On a keyed collection ``key`` and ``value`` are the parts of ``element``. ``processing_time`` is that of the instant
    in which the element arrived, or in which it had its side input.
    """

    element: A_co
    event_time: EventTime
    processing_time: ProcessingTime

    @property
    def key(self: OutputElement[KV[K, V]]) -> K:
        """The key, on a keyed collection."""
        return self.element.key

    @property
    def value(self: OutputElement[KV[K, V]]) -> V:
        """The value, on a keyed collection."""
        return self.element.value


def sort_elements(elements: Iterable[OutputElement[A]]) -> tuple[OutputElement[A], ...]:
    """Returns elements by processing time, then event time, then value, independent of their order of arrival."""
    known = tuple(elements)

    def key(each: OutputElement[A]) -> tuple[object, ...]:
        return (each.processing_time, each.event_time, sort_key(each.element))

    try:
        return tuple(sorted(known, key=key))
    except ElementError:
        # Some values have no order. Their texts have one.
        return tuple(sorted(known, key=lambda each: (*key(each)[:2], repr(each.element))))


@frozen
class Output(HasView, Generic[A_co]):
    """An output of a pipeline: panes if a grouping emits it, otherwise elements.

    ``panes`` are in the order of SEMANTICS section 7: instant by instant, then by window and key. ``elements`` are
    ordered by processing time, event time and value.
    """

    panes: tuple[Pane[A_co], ...]
    elements: tuple[OutputElement[A_co], ...] = field(default=(), kw_only=True)

    def final_values(
        self, *, by: Callable[[A_co], Hashable] | None = None
    ) -> tuple[WindowedValue[A_co], ...]:
        """The latest value of each key and window that is not retracted; see ``flowalg.final_values``.

        Interpreters agree on them: a batch and a stream that has ended and dropped nothing have equal final values
        (SEMANTICS section 11), under ACCUMULATING and RETRACTING. Raises ``UnsupportedError`` for elements that nothing
        has grouped, since none of them replaces another.
        """
        if self.elements:
            raise UnsupportedError(
                "final_values: the pipeline groups nothing, so its output is elements, which replace nothing; read "
                "run.elements, or end the pipeline with combine_per_key(...)"
            )
        return final_values(self.panes, by=by)


def joined(parts: Iterable[Output[A]]) -> Output[A]:
    """Returns what an output gives in successive parts of a run, as one output."""
    known = tuple(parts)
    return Output(
        tuple(pane for part in known for pane in part.panes),
        elements=sort_elements(element for part in known for element in part.elements),
    )


__all__ = ["Output", "OutputElement", "joined", "sort_elements"]
