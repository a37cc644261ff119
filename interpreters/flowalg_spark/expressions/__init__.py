"""Lifted expressions as Spark columns, with exactly Python's meaning: one table of operations, and one of shapes.

Nothing here depends on the session's settings: neither on ANSI mode nor on its time zone.
"""

from flowalg_spark.expressions.compiler import compile_expression, compile_scalar

__all__ = ["compile_expression", "compile_scalar"]
