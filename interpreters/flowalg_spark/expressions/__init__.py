"""The compiler of lifted expressions to SQL of Spark, which has exactly Python's results.

The results do not depend on settings of the session, such as ANSI mode or the time zone.
"""

from flowalg_spark.expressions.compiler import compile_expression, compile_scalar
from flowalg_spark.expressions.failures import Fallible, compile_fallible, may_fail

__all__ = ["Fallible", "compile_expression", "compile_fallible", "compile_scalar", "may_fail"]
