"""The contents of the windows of a grouping: columns for built-in combiners, pickled objects for all others."""

from __future__ import annotations

from typing import TypeAlias

from flowalg_shard.step.column_contents import ColumnContents
from flowalg_shard.step.object_contents import ObjectContents
from flowalg_shard.step.stage import Stage

Contents: TypeAlias = ColumnContents | ObjectContents
"""Both have the same methods over tables: ``lift``, ``precombine``, ``absorb``, ``extract``, ``discard``."""


def contents_of(stage: Stage) -> Contents:
    """Returns the contents of the windows of a stage."""
    return ColumnContents(stage) if stage.combiner is None else ObjectContents(stage, stage.combiner)
