"""Spark batch: bounded pipelines as relational algebra over DataFrames."""

from flowalg_spark.batch.compilation import CAPABILITIES, check, compile, run

__all__ = ["CAPABILITIES", "check", "compile", "run"]
