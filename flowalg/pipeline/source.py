"""Sources: where the elements of a pipeline come from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from flowalg.data.errors import ArgumentError, ElementError, describe_function
from flowalg.data.shapes import TIMESTAMP, shape_of
from flowalg.data.time import Ingress
from flowalg.elementwise.functions import Call, apply
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Param
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import sources_of

A_co = TypeVar("A_co", covariant=True)


class Source(PCollection[A_co]):
    """The entry of a pipeline for elements of one record class, in the global window.

    ``name`` identifies it in messages; ``record`` is a record class or a scalar type; ``event_time`` returns the
    event time of an element as a timezone-aware datetime. With ``INGRESS_TIME`` it is the processing time at which the
    element arrives (Streaming 102, "processing-time windows via ingress time"): that of its record, if the source
    carries processing times, and otherwise that of the instant; in a batch, the processing time of the batch. The data
    are bound when the pipeline runs.
    """

    __slots__ = ()

    def __init__(
        self, name: str, record: type[A_co], *, event_time: Callable[[A_co], datetime] | Ingress
    ) -> None:
        shape = shape_of(record)
        if isinstance(event_time, Ingress):
            super().__init__(SourceNode(name, shape, None))
            return
        if not callable(event_time):
            valid = "a function, such as lambda score: score.at, or INGRESS_TIME"
            raise ArgumentError("Source.event_time", event_time, valid)
        call = Call(event_time)
        lifted = analyse_function(call, Param(shape)).shape
        if lifted is not None and lifted != TIMESTAMP:
            place = f"Source.event_time ({describe_function(event_time)})"
            raise ElementError(f"the result of {place} must be a datetime; its type is {lifted}")
        super().__init__(SourceNode(name, shape, call))

    @property
    def _source(self) -> SourceNode:
        assert isinstance(self.node, SourceNode)
        return self.node

    @property
    def name(self) -> str:
        """The name of the source in messages and inputs."""
        return self._source.name

    def event_time_of(self, element: object, processing_time: datetime | None = None) -> datetime:
        """Returns the event time of an element, with the function of the source.

        If its event times are ingress times, it is the ``processing_time`` of the element's arrival.
        """
        function = self._source.event_time
        if function is None:
            if processing_time is None:
                valid = f"the arrival of the element, since source {self.name!r} has ingress times"
                raise ArgumentError("processing_time", None, valid)
            return processing_time
        point = apply(function, element, f"Source({self.name!r}).event_time")
        if not isinstance(point, datetime):
            raise ArgumentError(f"the event time of source {self.name!r}", point, "a timezone-aware datetime")
        return point


def sources(pipeline: PCollection[object]) -> tuple[Source[object], ...]:
    """Returns the distinct sources of a pipeline, to which a run must bind data.

    They are equal to the sources from which it was built.
    """
    if not isinstance(pipeline, PCollection):
        raise ArgumentError("pipeline", pipeline, "a PCollection")
    return tuple(map(_of_node, sources_of(pipeline.node)))


def source_node(source: Source[object]) -> SourceNode:
    """Returns the node of a source."""
    return source._source


def _of_node(node: SourceNode) -> Source[object]:
    source: Source[object] = object.__new__(Source)
    PCollection.__init__(source, node)
    return source
