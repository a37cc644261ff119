"""Faults of outputs: which elements a pipeline gives, in which order, and what the outputs of a run share."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

OUTPUT_MUTANTS: Final = (
    Replacement(
        "elements are in the order of their event times alone",
        "sort_elements",
        "(each.processing_time, each.event_time, total_sort_key(each.element))",
        "(each.event_time, total_sort_key(each.element))",
    ),
    Replacement(
        "elements of one event time are in the order of their arrival",
        "sort_elements",
        "(each.processing_time, each.event_time, total_sort_key(each.element))",
        "(each.processing_time, each.event_time)",
    ),
    Replacement(
        "outputs of one run do not share their groupings",
        "Operators.of_all",
        "fold_all(roots, lambda node, of: once_per_instant(self._make(node, of)))",
        "tuple(fold_all([root], lambda node, of: once_per_instant(self._make(node, of)))[0] for root in roots)",
    ),
    Replacement(
        "panes and elements are mixed",
        "emits_panes",
        "groupings and sources",
        "False",
    ),
    Replacement(
        "elements have the processing time of the first instant",
        "ElementOutput.advance",
        "self.states = [OperatorState(clocks)] * len(self.states)",
        "pass",
    ),
)
