"""The contents of the windows of a grouping: columns for built-in combiners, pickled objects for all others.

Built-in combiners that cannot subtract have bags of values in columns where elements may be retractions.
"""

from __future__ import annotations

from typing import TypeAlias

from flowalg_shard.contents.bags import BagContents
from flowalg_shard.contents.columns import ColumnContents
from flowalg_shard.contents.objects import ObjectContents
from flowalg_shard.contents.stage import Stage

Contents: TypeAlias = ColumnContents | BagContents | ObjectContents
"""All have the same methods over tables: ``lift``, ``precombine``, ``absorb``, ``results``, ``discard``."""


def contents_of(stage: Stage) -> Contents:
    """Returns the contents of the windows of a stage."""
    if stage.combiner is not None:
        return ObjectContents(stage, stage.combiner)
    return BagContents(stage) if stage.keeps_values else ColumnContents(stage)
