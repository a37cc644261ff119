"""Keys as one column: text and integers unchanged, all other keys as numbers."""

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
    """The encoding of the keys of a grouping. ``known`` has the numbers of keys that are neither text nor integers."""

    shape: Shape | None
    label: str
    known: dict[object, int] = field(factory=dict)
    numbered: list[object] = field(factory=list)

    @property
    def plain(self) -> bool:
        """Whether keys are text or integers, and so are in the column themselves."""
        return self.shape in (TEXT, INTEGER)

    @property
    def kind(self) -> pl.DataType:
        """The type of the column."""
        return pl.String() if self.shape == TEXT else pl.Int64()

    def encode(self, key: object) -> object:
        """Encodes a key. Raises ``ElementError`` for keys that have floats or are not hashable."""
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
        """Decodes an entry of the column."""
        return self.numbered[column] if not self.plain and isinstance(column, int) else column


__all__ = ["KEY", "Keys"]
