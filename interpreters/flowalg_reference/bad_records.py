"""Element-wise work that keeps bad records apart, in a run with dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import define, field

from flowalg.data.errors import FlowalgError
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord, bad_element
from flowalg.runs.elements import ArrivalOf, Element, conforming, read_or_reject, results_of


@define
class BadRecords:
    """The bad records of a run."""

    records: list[BadRecord] = field(factory=list)

    @classmethod
    def of(cls, *, dead_letters: bool) -> BadRecords | None:
        """No bad records yet; ``None`` without dead letters, where a bad record fails the run."""
        return cls() if dead_letters else None

    def read_records(
        self, source: SourceNode, records: Iterable[object], arrival_of: ArrivalOf
    ) -> tuple[Element, ...]:
        """Returns the records of a source as elements, without the bad ones."""
        read = [read_or_reject(source, record, arrival_of) for record in records]
        self.records += [record for record in read if isinstance(record, BadRecord)]
        return tuple(element for element in read if isinstance(element, Element))

    def apply_steps(self, steps: Iterable[StepAnalysis], elements: Iterable[Element]) -> tuple[Element, ...]:
        """Elements after element-wise steps, without those on which a step raises.

        A result has the type of the step, where that is known: a result of another type is an error of the step.
        """
        for analysis in steps:
            elements = [after for element in elements for after in self._apply(analysis, element)]
        return tuple(elements)

    def _apply(self, analysis: StepAnalysis, element: Element) -> Iterator[Element]:
        """What a step emits for an element; each result of the wrong type is a bad record by itself."""
        step = analysis.step
        try:
            results = list(results_of(step, element))
        except MemoryError:
            raise
        except Exception as error:
            self.records.append(bad_element(step, element.value, error, analysis.before))
            return
        for result in results:
            try:
                yield conforming(analysis, result)
            except FlowalgError as error:
                self.records.append(bad_element(step, element.value, error, analysis.before))
