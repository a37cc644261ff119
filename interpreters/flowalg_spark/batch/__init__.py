"""Spark batch: bounded pipelines as relational algebra over DataFrames."""

from flowalg_spark.batch.compilation import CAPABILITIES, compile, run

__all__ = ["CAPABILITIES", "compile", "run"]
