"""Trying laws on generated values: one call for a law, a combiner, a windowing strategy, a trigger law or a policy.

How many values are tried is hypothesis's own setting: that of the profile in force, or of ``@settings``. What fails
raises ``AssertionError`` with the smallest counterexample found: the law, what it says, and its two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TypeVar, cast
from zlib import crc32

from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import OnceTrigger, Trigger, WatermarkPolicy, WindowFn
from flowalg.combiners.core import Aggregate, require_combiner
from flowalg.data.time import EventTime
from flowalg_laws.checks.contexts import Context, OnceContext, contexts, once_contexts
from flowalg_laws.checks.differences import Difference
from flowalg_laws.checks.variables import variables_of
from flowalg_laws.kit.drawing import drawn
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.history import History
from flowalg_laws.kit.law import Law
from flowalg_laws.kit.situations import Situation, observed
from flowalg_laws.laws.combiners import COMBINER_LAWS
from flowalg_laws.laws.watermarks import WATERMARK_LAWS
from flowalg_laws.laws.windows import WINDOW_LAWS
from flowalg_laws.strategies import event_times, histories, situations
from flowalg_laws.strategies import keys as any_keys

A = TypeVar("A")
B = TypeVar("B")


def _equal(one: object, other: object) -> bool:
    return one == other


def _tried(test: Callable[[], None], name: str) -> None:
    """Run a hypothesis test; a side condition that seldom holds is not an error, one that never does is.

    Under a profile that tries the same examples every time they are chosen by the text of the test, which all laws
    share. The name makes them different from law to law, so that together the laws see more.
    """
    if settings().derandomize:
        test = seed(crc32(name.encode()))(test)
    quiet = [HealthCheck.filter_too_much, HealthCheck.too_slow, *settings().suppress_health_check]
    settings(suppress_health_check=list(dict.fromkeys(quiet)))(test)()


def _broken(law: Law[..., object], sides: Equation[object], *, of: str = "", where: str = "") -> str:
    says = f"{law.name} is broken{of}. It says: {law.statement}."
    return f"{says}\n  left:  {sides.left!r}\n  right: {sides.right!r}{where}"


def check_law(law: Law[..., object], **variables: SearchStrategy[object]) -> None:
    """Check a law over generated values for its variables, by their types, or as ``variables`` says.

    A law of runs is checked for an interpreter of your own with ``run=st.just(my_run)``. Trigger laws, whose sides are
    equal when nothing tells them apart, go to ``check_trigger_law``.
    """

    @given(st.fixed_dictionaries(variables_of(law, variables)))
    def holds(values: Mapping[str, object]) -> None:
        sides = law(**values)
        assume(sides is not None)
        if sides is not None and sides.left != sides.right:
            where = "".join(f"\n  {name} = {drawn(value)}" for name, value in values.items())
            raise AssertionError(_broken(law, sides, where=where))

    _tried(holds, law.name)


def check_trigger_law(
    law: Law[..., Trigger], *, alone: bool = False, **variables: SearchStrategy[object]
) -> None:
    """Check that two triggers give the same panes and drops in generated situations.

    Each is tried by itself and as a part of other triggers; only by itself if ``alone``.
    """

    @given(st.fixed_dictionaries(variables_of(law, variables)), contexts(), once_contexts(), situations())
    def holds(
        values: Mapping[str, object], within: Context, within_once: OnceContext, situation: Situation
    ) -> None:
        sides = law(**values)
        assume(sides is not None)
        if sides is None:
            return
        left, right = sides.left, sides.right
        if not alone and isinstance(left, OnceTrigger) and isinstance(right, OnceTrigger):
            left, right = within_once(left), within_once(right)
        if not alone:
            left, right = within(left), within(right)
        if observed(left, situation) != observed(right, situation):
            raise AssertionError(
                f"{law.name} is broken. It says: {law.statement}.\n{Difference(left, right, situation)}"
            )

    _tried(holds, law.name)


def check_combiner(
    combiner: Aggregate[A, B],
    values: SearchStrategy[A],
    *,
    equal: Callable[[B, B], bool] = _equal,
) -> None:
    """Check every law of a combiner, however it was made, over accumulators of generated values.

    ``equal`` judges two results, for combiners whose results are only close.
    """
    whole = require_combiner("combiner", combiner)
    alike = cast("Callable[[object, object], bool]", equal)
    bags = st.lists(values, min_size=1, max_size=8)

    @given(bags, bags, bags, values)
    def holds(first: list[A], second: list[A], third: list[A], value: A) -> None:
        a, b, c = (reduce(whole.add, bag, whole.zero()) for bag in (first, second, third))
        for law in COMBINER_LAWS:
            sides = law(whole, a, b, c, value)
            if sides is not None and not alike(sides.left, sides.right):
                raise AssertionError(_broken(law, sides, of=f" by {combiner!r}"))

    _tried(holds, whole.title)


def check_window_fn(
    windows: WindowFn,
    *,
    points: SearchStrategy[EventTime] | None = None,
    keys: SearchStrategy[str] | None = None,
) -> None:
    """Check every law of a windowing strategy, over generated event times of generated keys."""
    some = st.lists(event_times() if points is None else points, max_size=6).map(tuple)
    given_to = {
        "windows": st.just(windows),
        "key": any_keys() if keys is None else keys,
        "points": some,
        "more": some,
    }

    @given(st.fixed_dictionaries(given_to))
    def holds(values: Mapping[str, object]) -> None:
        for law in WINDOW_LAWS:
            wanted = variables_of(law, {})
            sides = law(**{name: values[name] for name in wanted})
            if sides is not None and sides.left != sides.right:
                raise AssertionError(_broken(law, sides, of=f" by {windows}"))

    _tried(holds, str(windows))


def check_watermark_policy(policy: WatermarkPolicy, shown: SearchStrategy[History] | None = None) -> None:
    """Check every law of a watermark policy over generated histories of a source, or over those of ``shown``."""

    @given(histories() if shown is None else shown)
    def holds(history: History) -> None:
        for law in WATERMARK_LAWS:
            sides = law(policy, history)
            if sides is not None and sides.left != sides.right:
                raise AssertionError(_broken(law, sides, of=f" by {policy!r}"))

    _tried(holds, str(policy))


__all__ = ["check_combiner", "check_law", "check_trigger_law", "check_watermark_policy", "check_window_fn"]
