"""Laws of serialization: deserializing a serialized value returns an equal value."""

from __future__ import annotations

import pickle
from typing import cast

from flowalg import PCollection, Sum, from_json, to_json
from flowalg.serialization import TRIGGER, WATERMARK_POLICY, WINDOWS
from flowalg.triggers import Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import WindowFn, WindowingStrategy
from flowalg_laws.kit.equation import Equality, Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import VALUES


@law
def triggers_survive_json(t: Trigger) -> Equation[Trigger]:
    """``from_json(to_json(t)) = t``.

    Where: all functions in it can be imported by name.

    Source: SEMANTICS 13.

    Relied on by: stored pipelines.
    """
    return Equation(from_json(to_json(t), TRIGGER), t, equality=Equality.EXACT)


@law
def windows_survive_json(windows: WindowFn) -> Equation[WindowFn]:
    """``from_json(to_json(w)) = w``.

    Where: all functions in it can be imported by name.

    Source: SEMANTICS 13.

    Relied on by: stored pipelines.
    """
    return Equation(from_json(to_json(windows), WINDOWS), windows)


@law
def policies_survive_json(policy: WatermarkPolicy) -> Equation[WatermarkPolicy]:
    """``from_json(to_json(p)) = p``.

    Where: all functions in it can be imported by name.

    Source: SEMANTICS 13.
    """
    return Equation(from_json(to_json(policy), WATERMARK_POLICY), policy)


@law
def pipelines_survive_json(strategy: WindowingStrategy) -> Equation[PCollection[object]]:
    """``from_json(to_json(c)) = c`` for collections ``c``.

    Where: all functions in it can be imported by name.

    Source: SEMANTICS 13.

    Relied on by: stored pipelines.
    """
    summed = apply_windowing(VALUES, strategy).combine_per_key(Sum())
    return Equation(from_json(to_json(summed), PCollection[object]), summed)


@law
def pipelines_survive_pickle(strategy: WindowingStrategy) -> Equation[PCollection[object]]:
    """``loads(dumps(c)) = c`` for collections ``c``.

    Where: all functions in it can be pickled; with cloudpickle the results are equal except for other functions.

    Source: SEMANTICS 13.

    Relied on by: Spark, which sends stages to its workers.
    """
    summed = apply_windowing(VALUES, strategy).combine_per_key(Sum())
    return Equation(cast("PCollection[object]", pickle.loads(pickle.dumps(summed))), summed)  # trusted bytes


@law
def policies_survive_pickle(policy: WatermarkPolicy) -> Equation[WatermarkPolicy]:
    """``loads(dumps(p)) = p``.

    Source: SEMANTICS 13.

    Relied on by: Spark, which sends policies to its workers.
    """
    return Equation(cast("WatermarkPolicy", pickle.loads(pickle.dumps(policy))), policy)  # trusted bytes


SERIALIZATION_LAWS: tuple[Law[..., object], ...] = (
    triggers_survive_json,
    windows_survive_json,
    policies_survive_json,
    pipelines_survive_json,
    pipelines_survive_pickle,
    policies_survive_pickle,
)
"""All laws of serialization."""
