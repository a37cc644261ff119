"""The laws of serialisation: what is written and read again is equal, and so means the same."""

from __future__ import annotations

import pickle
from typing import cast

from flowalg import (
    PCollection,
    Sum,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
    from_json,
    to_json,
)
from flowalg.serialization import TRIGGER, WATERMARK_POLICY, WINDOWS
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import put_into
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import VALUES


@law
def triggers_survive_json(t: Trigger) -> Equation[Trigger]:
    """``from_json(to_json(t)) = t``.

    Where: the functions in it are importable by name.

    Source: SEMANTICS 13.

    Relied on by: pipelines that are kept as documents.
    """
    return Equation(from_json(to_json(t), TRIGGER), t)


@law
def windows_survive_json(windows: WindowFn) -> Equation[WindowFn]:
    """``from_json(to_json(w)) = w``.

    Where: the functions in it are importable by name.

    Source: SEMANTICS 13.

    Relied on by: pipelines that are kept as documents.
    """
    return Equation(from_json(to_json(windows), WINDOWS), windows)


@law
def policies_survive_json(policy: WatermarkPolicy) -> Equation[WatermarkPolicy]:
    """``from_json(to_json(p)) = p``.

    Where: the functions in it are importable by name.

    Source: SEMANTICS 13.
    """
    return Equation(from_json(to_json(policy), WATERMARK_POLICY), policy)


@law
def pipelines_survive_json(strategy: WindowingStrategy) -> Equation[PCollection[object]]:
    """``from_json(to_json(c)) = c`` for collections.

    Where: the functions in it are importable by name.

    Source: SEMANTICS 13.

    Relied on by: pipelines that are kept as documents.
    """
    summed = put_into(VALUES, strategy).combine_per_key(Sum())
    return Equation(from_json(to_json(summed), PCollection[object]), summed)


@law
def pipelines_survive_pickle(strategy: WindowingStrategy) -> Equation[PCollection[object]]:
    """``loads(dumps(c)) = c`` for collections.

    Where: the functions in it can be pickled; others are, by cloudpickle, equal up to their functions.

    Source: SEMANTICS 13.

    Relied on by: Spark, whose workers receive the stage that they run.
    """
    summed = put_into(VALUES, strategy).combine_per_key(Sum())
    return Equation(cast("PCollection[object]", pickle.loads(pickle.dumps(summed))), summed)  # our own bytes


@law
def policies_survive_pickle(policy: WatermarkPolicy) -> Equation[WatermarkPolicy]:
    """``loads(dumps(p)) = p``.

    Source: SEMANTICS 13.

    Relied on by: Spark, whose workers receive the policy.
    """
    return Equation(cast("WatermarkPolicy", pickle.loads(pickle.dumps(policy))), policy)  # our own bytes


SERIALISATION_LAWS: tuple[Law[..., object], ...] = (
    triggers_survive_json,
    windows_survive_json,
    policies_survive_json,
    pipelines_survive_json,
    pipelines_survive_pickle,
    policies_survive_pickle,
)
"""Every law of serialisation."""

__all__ = ["SERIALISATION_LAWS"]
