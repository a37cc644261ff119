"""The compiler of lifted expressions to Polars expressions, which have exactly Python's results.

Polars evaluates all branches of a choice, so a failure is not raised where it is computed: it is another column.
"""

from flowalg_polars.expressions.compiler import Compiled, compile_expression, compile_scalar

__all__ = ["Compiled", "compile_expression", "compile_scalar"]
