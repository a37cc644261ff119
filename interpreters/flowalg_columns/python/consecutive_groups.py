"""The groups of a sorted partition: consecutive rows with equal grouping columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def consecutive_groups(
    batches: Iterable[pa.RecordBatch], by: tuple[str, ...]
) -> Iterator[tuple[tuple[object, ...], list[pa.RecordBatch]]]:
    """Returns each group of consecutive rows with equal values in the columns ``by``: these, and slices of batches."""
    current: tuple[object, ...] | None = None
    parts: list[pa.RecordBatch] = []
    for batch in batches:
        start = 0
        for index, group in enumerate(group_keys(batch, by)):
            if group == current:
                continue
            if index > start:
                parts.append(batch.slice(start, index - start))
            if current is not None:
                yield current, parts
            current, parts, start = group, [], index
        if batch.num_rows > start:
            parts.append(batch.slice(start))
    if current is not None:
        yield current, parts


def group_keys(batch: pa.RecordBatch, by: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
    """Returns the values of some columns for each row, in hashable form."""
    if not by:
        return iter([()] * batch.num_rows)
    return zip(*(_hashable(batch, name) for name in by), strict=True)


def _hashable(batch: pa.RecordBatch, name: str) -> list[object]:
    values: list[object] = list(batch.column(name).to_pylist())
    if pa.types.is_nested(batch.schema.field(name).type):
        return [_frozen(value) for value in values]
    return values


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, _frozen(item)) for name, item in value.items())
    return value
