"""A bounded pipeline as relational algebra over lazy frames of Polars."""

from flowalg_polars.batch.compilation import CAPABILITIES, BatchInput, compile, compile_all, run, run_all

__all__ = ["CAPABILITIES", "BatchInput", "compile", "compile_all", "run", "run_all"]
