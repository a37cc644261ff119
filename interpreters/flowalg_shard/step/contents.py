"""What the windows of a grouping hold: columns for built-in combiners, pickled objects for all others."""

from __future__ import annotations

from typing import TypeAlias

from flowalg_shard.step.aggregates import InColumns
from flowalg_shard.step.objects import InObjects
from flowalg_shard.step.stage import Stage

Contents: TypeAlias = InColumns | InObjects
"""Both have the same methods over tables: ``lifted``, ``precombined``, ``absorbed``, ``extracted``, ``discarded``."""


def contents_of(stage: Stage) -> Contents:
    """How a stage holds its values."""
    return InColumns(stage) if stage.combiner is None else InObjects(stage, stage.combiner)


__all__ = ["Contents", "contents_of"]
