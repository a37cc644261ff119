"""What the interpreters of the tests share: the two signatures of ``run``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeAlias, TypeVar, cast, overload

from flowalg import Outputs, PCollection, Run, Source, Timeline
from flowalg.runs.inputs import AnySource

A = TypeVar("A")
Timelines: TypeAlias = Mapping[Source[object], Timeline[object]]
Collections: TypeAlias = Mapping[str, PCollection[object]]


class Engine(ABC):
    """An interpreter of the tests, which also has ``capabilities``."""

    @abstractmethod
    def execute(self, outputs: PCollection[object] | Collections, inputs: Timelines) -> Run[object] | Outputs:
        """Returns the run of a pipeline, or several named outputs."""

    @overload
    def run(self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> Run[A]: ...
    @overload
    def run(self, outputs: Collections, inputs: Mapping[AnySource, Timeline[object]]) -> Outputs: ...
    def run(
        self, outputs: PCollection[object] | Collections, inputs: Mapping[AnySource, Timeline[object]]
    ) -> Run[object] | Outputs:
        """Runs the outputs."""
        return self.execute(outputs, cast("Timelines", inputs))
