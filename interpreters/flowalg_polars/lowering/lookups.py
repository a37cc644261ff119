"""What a join finds of the keys that steps look up in the mapping of a side input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from flowalg_columns.layout import Branch, Leaf, flatten_columns

from flowalg.data.shapes import BOOLEAN, TupleOf
from flowalg.lifting.lookups import Lookups
from flowalg_polars.columns import Columns, unnest
from flowalg_polars.expressions import compile_scalar

KEY: Final = "__side_key"
VALUE: Final = "__side_value"
_FOUND: Final = "__side_found"


def look_up(
    frame: pl.LazyFrame,
    entries: pl.LazyFrame,
    lookups: Lookups,
    element: Columns,
    by: str,
    meta: Sequence[str],
    *,
    in_order: bool,
) -> pl.LazyFrame:
    """Returns elements with what is found of each key, of the shape of the lookups; they keep their order if asked to.

    ``entries`` have ``KEY`` and ``VALUE``. The column ``by`` says in which mapping a key is, and which one is read.
    """
    results: list[Columns] = []
    for number, (key, shape) in enumerate(zip(lookups.keys, lookups.shape.items[1:], strict=True)):
        assert isinstance(shape, TupleOf), "a key is found or not, and has a value"
        names = {name: f"{name}{number}" for name in (KEY, VALUE, _FOUND)}
        keyed = frame.with_columns(compile_scalar(key, element)[0].alias(names[KEY]))
        right = entries.select(by, KEY, VALUE, pl.lit(True).alias(_FOUND)).rename(names)
        frame = keyed.join(
            right, on=[by, names[KEY]], how="left", maintain_order="left" if in_order else None
        )
        is_found = Leaf(BOOLEAN, pl.col(names[_FOUND]).fill_null(False))
        results.append(Branch(shape, (is_found, unnest(pl.col(names[VALUE]), shape.items[1]))))
    columns = Branch(lookups.shape, (element, *results))
    return frame.select(*flatten_columns(columns, lookups.shape), *meta)
