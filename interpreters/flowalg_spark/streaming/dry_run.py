"""Dry runs of combiners' functions, as filter steps before the grouping, for queries with dead letters.

A function that fails inside of an accumulator does not identify the bad record; a step does.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen
from flowalg_columns.combiners import component_combiners

from flowalg.combiners.core import Combiner, Over
from flowalg.elementwise.functions import Call, apply_all, require_keyed
from flowalg.elementwise.steps import Filter, Step


@frozen
class DryRun:
    """A predicate that calls a function with the value of a pair: it returns true, or raises the function's error."""

    call: Call
    label: str

    def __call__(self, pair: object) -> bool:
        """Calls the function."""
        apply_all(self.call, (require_keyed(pair, self.label).value,), self.label)
        return True

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user-defined function, which messages name."""
        return self.call.f


def dry_run_steps(combiner: Combiner[object, object, object]) -> tuple[Step, ...]:
    """Returns a step for each user-defined function that a combiner applies to values."""
    parts = (part for part in component_combiners(combiner) if isinstance(part, Over))
    return tuple(Filter(Call(DryRun(part.function, part.label)), f"{part.title}.of") for part in parts)


__all__ = ["DryRun", "dry_run_steps"]
