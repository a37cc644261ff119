"""A bounded pipeline as relational algebra over lazy frames of Polars."""

from flowalg_polars.batch.compilation import CAPABILITIES, BatchInput, check, compile, run

__all__ = ["CAPABILITIES", "BatchInput", "check", "compile", "run"]
