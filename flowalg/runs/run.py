"""The result of running a pipeline, the same for all interpreters: panes, drops, and the final values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from attrs import frozen

from flowalg.data.views import HasView
from flowalg.runs.current import WindowedValue, final_values
from flowalg.runs.panes import Drop, Pane

A_co = TypeVar("A_co", covariant=True)


@frozen
class Run(HasView, Generic[A_co]):
    """What a pipeline emitted and dropped.

    ``panes`` are in the order of SEMANTICS section 7: instant by instant, then by window and key. ``dropped`` says how
    many elements were dropped where, when, and why: one drop for each key, window and instant, or one for each
    element, as the interpreter knows them.
    """

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[Drop, ...]

    def final_values(
        self, *, by: Callable[[A_co], Hashable] | None = None
    ) -> tuple[WindowedValue[A_co], ...]:
        """The latest value of each key and window that is not retracted; see ``flowalg.final_values``.

        Interpreters agree on them: a batch and a stream that has ended and dropped nothing have equal final values
        (SEMANTICS section 11), under ACCUMULATING and RETRACTING.
        """
        return final_values(self.panes, by=by)


__all__ = ["Run"]
