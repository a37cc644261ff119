"""Lifting: a user's function, shown to be a closed expression over its element, as a value.

``expressions`` is the engine-free tree; ``source`` finds the syntax of a function and proves that it is the
code that would run; ``lift`` turns syntax into the tree; ``analysis`` does it for a chain of steps.
"""

from flowalg.lifting.analysis import StepAnalysis, analyse, analyse_function
from flowalg.lifting.expressions import Expr, Opaque, opaque_part

__all__ = ["Expr", "Opaque", "StepAnalysis", "analyse", "analyse_function", "opaque_part"]
