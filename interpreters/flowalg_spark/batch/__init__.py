"""Spark batch: bounded pipelines as relational algebra over DataFrames."""

from flowalg_spark.batch.compilation import CAPABILITIES, compile, compile_all, run, run_all

__all__ = ["CAPABILITIES", "compile", "compile_all", "run", "run_all"]
