"""Keys as one column: themselves where they are text or whole numbers, else numbers that stand for them."""

from __future__ import annotations

from typing import Final

import polars as pl
from attrs import define, field

from flowalg.data.errors import ElementError, format_value
from flowalg.data.shapes import INTEGER, TEXT, Shape
from flowalg.data.values import conform, has_float

KEY: Final = "key"


@define
class Keys:
    """How the keys of a grouping lie in a column. ``known`` numbers those that have no column of their own."""

    shape: Shape | None
    label: str
    known: dict[object, int] = field(factory=dict)
    numbered: list[object] = field(factory=list)

    @property
    def plain(self) -> bool:
        """Whether keys are in the column themselves."""
        return self.shape in (TEXT, INTEGER)

    @property
    def kind(self) -> pl.DataType:
        """The type of the column."""
        return pl.String() if self.shape == TEXT else pl.Int64()

    def encode(self, key: object) -> object:
        """What stands for a key. Raises ``ElementError`` for floats and for what is not hashable."""
        if has_float(key):
            raise ElementError(
                f"{self.label} was given the key {format_value(key)}; floats cannot be compared exactly"
            )
        try:
            hash(key)
        except TypeError as unhashable:
            raise ElementError(
                f"{self.label} was given the key {format_value(key)}, which is not hashable"
            ) from unhashable
        if self.plain:
            return conform(key, self.shape, f"the key of {self.label}") if self.shape is not None else key
        if key not in self.known:
            self.known[key] = len(self.numbered)
            self.numbered.append(key)
        return self.known[key]

    def decode(self, column: object) -> object:
        """The key that something stands for."""
        return self.numbered[column] if not self.plain and isinstance(column, int) else column


__all__ = ["KEY", "Keys"]
