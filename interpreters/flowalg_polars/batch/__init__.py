"""A bounded pipeline as relational algebra over lazy frames of Polars."""

from flowalg_polars.batch.compilation import CAPABILITIES, BatchInput, compile, compile_all, run

__all__ = ["CAPABILITIES", "BatchInput", "compile", "compile_all", "run"]
