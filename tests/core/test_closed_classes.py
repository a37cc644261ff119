"""Classes that engines compute by themselves are not extended.

These tests catch a subclass whose methods an engine would ignore: the local engine gave a sum where the reference gave
what a subclass of ``Sum`` returned.
"""

from __future__ import annotations

import pytest

from flowalg import (
    AtCount,
    AtWatermark,
    CalendarDays,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Mean,
    Min,
    OrFinally,
    Repeat,
    SequenceOf,
    Sessions,
    SlidingWindows,
    Sum,
    ToList,
    TopN,
)
from flowalg.combiners import AllOf, AnyOf, Combiner, Group, ToSet
from flowalg.errors import ArgumentError
from flowalg.triggers import AtValue, CustomTrigger
from flowalg.windows import CalendarMonths, CalendarWeeks

COMBINERS: tuple[type, ...] = (Sum, Count, Mean, Min, Max, ToList, ToSet, TopN, AnyOf, AllOf)
WINDOWS: tuple[type, ...] = (
    *(GlobalWindows, FixedWindows, SlidingWindows, Sessions),
    *(CalendarDays, CalendarWeeks, CalendarMonths),
)

TRIGGERS: tuple[type, ...] = (AtCount, AtWatermark, AtValue, CustomTrigger, Repeat, OrFinally, SequenceOf)


def extend(base: type) -> type:
    """Returns a subclass of a class."""
    return type("Mine", (base,), {"__module__": __name__})


@pytest.mark.parametrize("base", COMBINERS, ids=lambda base: base.__name__)
def test_a_combiner_of_the_library_is_not_extended(base: type) -> None:
    """The message names the class, its base, the reason, and what to extend instead."""
    message = (
        f"the base class of Mine must be Combiner or Group; got .*{base.__name__}.*: engines compute {base.__name__} "
        "by themselves, without the methods of a subclass"
    )
    with pytest.raises(ArgumentError, match=message):
        extend(base)


@pytest.mark.parametrize("base", WINDOWS, ids=lambda base: base.__name__)
def test_windows_of_the_library_are_not_extended(base: type) -> None:
    """The message names the windows that take functions."""
    with pytest.raises(ArgumentError, match=r"must be none: CustomWindows\(\.\.\.\) takes functions; got .*"):
        extend(base)


@pytest.mark.parametrize("base", TRIGGERS, ids=lambda base: base.__name__)
def test_a_trigger_of_the_library_is_not_extended(base: type) -> None:
    """The message names the trigger that takes functions."""
    with pytest.raises(ArgumentError, match=r"must be none: CustomTrigger\(\.\.\.\) takes functions; got .*"):
        extend(base)


@pytest.mark.parametrize("base", [Combiner, Group])
def test_what_is_meant_to_be_extended_is(base: type) -> None:
    """``Combiner`` and ``Group`` have subclasses of users."""
    assert issubclass(extend(base), base)
