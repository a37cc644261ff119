"""A listing: a pipeline that sums the scores of the papers' example, with its source text and the figure's name."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import Final, TypeAlias

from attrs import define

from figures.published import Datum
from flowalg import KV, FixedWindows, PCollection, Sessions, Source
from flowalg.data import INGRESS_TIME
from flowalg.data.durations import duration_in_words
from flowalg.pipeline.structure import last_grouping
from flowalg.windows import WindowingStrategy

Scores: TypeAlias = PCollection[KV[str, int]]
Build: TypeAlias = Callable[[Scores], Scores]

SCORES: Final = Source("scores", Datum, event_time=lambda d: d.event_time)
ARRIVALS: Final = Source("scores", Datum, event_time=INGRESS_TIME)
"""The same data, whose event times are the times at which they arrive."""


@define(slots=False)
class Listing:
    """The pipeline of a figure or a table, with its place in the papers, such as ``Figure 13, left``."""

    name: str
    paper: str
    place: str
    title: str
    build: Build
    data: Source[Datum] = SCORES

    @cached_property
    def pipeline(self) -> Scores:
        """The pipeline over its source."""
        return self.build(self.data.key_by(lambda d: "team").map_values(lambda d: d.value))

    @property
    def strategy(self) -> WindowingStrategy:
        """The windowing strategy of its sum."""
        return last_grouping(self.pipeline.node).windowed_by.strategy

    @property
    def heading(self) -> str:
        """The paper, the place and the title of the figure."""
        return f"{self.paper}, {self.place}: {self.title}"

    @property
    def windows_in_words(self) -> str:
        """Its windows and its accumulation mode, in words."""
        match self.strategy.windows:
            case FixedWindows(size=size):
                windows = f"Fixed windows of {_with_number(size)}"
            case Sessions(gap=gap):
                windows = f"Sessions with a gap of {_with_number(gap)}"
            case _:
                windows = "One window for all of time"
        return f"{windows}, {self.strategy.mode.value}"

    @property
    def source(self) -> str:
        """The source text of the pipeline."""
        text = textwrap.dedent(inspect.getsource(self.build))
        (function,) = ast.parse(text).body
        assert isinstance(function, ast.FunctionDef)
        result = function.body[-1]
        assert isinstance(result, ast.Return)
        # Whole lines keep the indentation of the first line for dedent. Enclosing brackets belong to the layout.
        lines = text.splitlines()[result.lineno - 1 : result.end_lineno]
        lines[0] = lines[0].replace("return ", "", 1)
        if lines[0].strip() == "(":
            lines = lines[1:-1]
        return textwrap.dedent("\n".join(lines))

    @property
    def to_see(self) -> str:
        """The description of the picture."""
        return " ".join((inspect.getdoc(self.build) or "").split())


def _with_number(duration: timedelta) -> str:
    words = duration_in_words(duration)
    return words if words[0].isdigit() else f"1 {words}"
