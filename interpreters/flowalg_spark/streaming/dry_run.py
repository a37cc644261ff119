"""The functions of combiners as steps that let pass what they can take: a bad record is found before it is combined.

An accumulator that has failed on one element could not be told from the others; a step can tell which element it was.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from flowalg.combiners.core import Combiner, Over
from flowalg.elementwise.functions import Call, apply_all, require_keyed
from flowalg.elementwise.steps import Filter, Step
from flowalg_spark.lowering.arguments import component_combiners


@frozen
class Tried:
    """Whether a function can take the value of a pair: true, or what the function raises."""

    call: Call
    label: str

    def __call__(self, pair: object) -> bool:
        """The trial."""
        apply_all(self.call, (require_keyed(pair, self.label).value,), self.label)
        return True

    @property
    def wrapped(self) -> Callable[..., object]:
        """The function of the user's, which messages name."""
        return self.call.f


def trials(combiner: Combiner[object, object, object]) -> tuple[Step, ...]:
    """A step for each function of the user's that a combiner applies to the values of pairs."""
    parts = (one for one in component_combiners(combiner) if isinstance(one, Over))
    return tuple(Filter(Call(Tried(one.function, one.label)), f"{one.title}.of") for one in parts)


__all__ = ["Tried", "trials"]
