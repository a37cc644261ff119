"""What an interpreter is: a value that runs pipelines over timelines, and says what it can run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar, overload

from flowalg.analysis.capabilities import Capabilities
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource
from flowalg.runs.run import Outputs, Run
from flowalg.runs.timeline import Timeline

A = TypeVar("A")


class Interpreter(Protocol):
    """Gives a pipeline its meaning: runs it over what its sources did.

    All interpreters take timelines, and may take inputs of their own besides, such as data frames. So swapping the
    engine of a program is swapping one value. Law: every interpreter gives the panes, elements and drops of the
    reference over the same timelines, in the mode that it declares; ``flowalg_laws.check_interpreter`` checks it.
    """

    @property
    def capabilities(self) -> Capabilities:
        """The interpreter's name, when it evaluates triggers, and what it cannot run."""
        ...

    @overload
    def run(self, outputs: PCollection[A], inputs: Mapping[AnySource, Timeline[object]], /) -> Run[A]: ...
    @overload
    def run(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]], /
    ) -> Outputs: ...
    def run(
        self,
        outputs: PCollection[object] | Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, Timeline[object]],
        /,
    ) -> Run[object] | Outputs:
        """Returns the output and drops of a pipeline over one timeline for each source, or several named outputs of one
        run.

        An output is panes, or elements if its pipeline groups nothing. A collection that several outputs share is
        computed once. Law: ``run({name: x})[x]`` is the output of ``run(x)``.

        Raises ``UnboundSourceError`` when a source has no input or an input no source, ``UserFunctionError`` when a
        user-defined function raises, ``UnsupportedError`` for what the interpreter cannot run, and ``ArgumentError``
        for anything but collections.
        """
        ...
