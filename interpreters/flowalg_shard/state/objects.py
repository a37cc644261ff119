"""The classes whose objects a table has as they are, in columns of stored bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import polars as pl

from flowalg.evolution.documents import CLASS, class_of_match


def _bytes_in(column: pl.Series) -> Iterator[pl.Series]:
    """Yields a column if it has bytes, and those inside its lists and structs."""
    match column.dtype:
        case pl.Binary():
            yield column
        case pl.List():
            yield from _bytes_in(column.explode())
        case pl.Struct() as kind:
            for field in kind.fields:
                yield from _bytes_in(column.struct.field(field.name))
        case _:
            return


def class_names(tables: Iterable[pl.DataFrame]) -> frozenset[str]:
    """Returns the names of the classes whose objects tables have."""
    names = set[str]()
    for table in tables:
        for column in chain.from_iterable(map(_bytes_in, table)):
            texts = _texts(column.drop_nulls())
            names.update(map(class_of_match, texts.str.extract_all(CLASS).explode().drop_nulls().unique()))
    return frozenset(names)


def _texts(column: pl.Series) -> pl.Series:
    """Returns bytes as texts; those of values of the user need not be texts."""
    try:
        return column.cast(pl.String())
    except pl.exceptions.ComputeError:
        return pl.Series([stored.decode(errors="replace") for stored in column.to_list()], dtype=pl.String())
