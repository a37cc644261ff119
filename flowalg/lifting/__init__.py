"""Lifting: a user's function, shown to be a closed expression over its element, as a value.

- ``expressions`` and ``primitives`` are the engine-free tree; ``intervals`` and ``failures`` say what is known of one.
- ``source`` finds the syntax of a function and proves that it is the code that would run.
- ``functions`` and ``syntax`` turn it into the tree; ``scope`` and ``captured`` tell what its names stand for, and
  ``narrowing`` what its conditions tell.
- ``numbers``, ``texts``, ``times``, ``records``, ``enums``, ``comparing``, ``choosing``, ``membership``,
  ``conversions`` and ``calls`` each know the operations of one kind.
- ``reading`` tells which fields a function reads that must run in Python.
- ``lift`` does it for a function, ``analysis`` for a chain of steps.
"""

from flowalg.lifting.analysis import StepAnalysis, analyse, analyse_function
from flowalg.lifting.expressions import Expr, Opaque, opaque_part

__all__ = ["Expr", "Opaque", "StepAnalysis", "analyse", "analyse_function", "opaque_part"]
