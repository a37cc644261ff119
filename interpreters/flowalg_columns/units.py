"""Times and durations of any unit in whole microseconds, at any depth of a column, rounded down."""

from __future__ import annotations

from typing import Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowalg.data.time import FIRST_MICROSECOND, LAST_MICROSECOND
from flowalg_columns.values import AnyArray

_SCALES: Final = {"s": 1_000_000, "ms": 1_000}
_MOST: Final = 2**63 - 1


class DurationRangeError(Exception):
    """A duration needs more than 64 bits in microseconds: the argument is the number, with its unit."""


def in_whole_microseconds(array: AnyArray) -> AnyArray:
    """Returns a column with its times and durations in microseconds, and its times in UTC.

    A time beyond the years 1 to 9999 stays beyond them. Raises ``DurationRangeError`` for a duration beyond 64 bits.
    """
    kind = array.type
    if not _is_converted(kind):
        return array
    if isinstance(kind, pa.TimestampType):
        times = pa.timestamp("us") if kind.tz is None else pa.timestamp("us", "UTC")
        return _scaled(array, kind.unit, limited=True).cast(times)
    if isinstance(kind, pa.DurationType):
        return _scaled(array, kind.unit, limited=False).cast(pa.duration("us"))
    if isinstance(kind, pa.StructType):
        structs = cast("pa.StructArray", array)
        parts = [in_whole_microseconds(structs.field(index)) for index in range(kind.num_fields)]
        names = [kind.field(index).name for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, names=names, mask=structs.is_null())
    if isinstance(kind, pa.FixedSizeListType):
        return in_whole_microseconds(array.cast(pa.list_(kind.value_type)))
    if isinstance(kind, pa.ListType):
        lists = cast("pa.ListArray[pa.Scalar[pa.DataType]]", array)
        return pa.ListArray.from_arrays(
            lists.offsets, in_whole_microseconds(lists.values), mask=lists.is_null()
        )
    large = cast("pa.LargeListArray[pa.DataType]", array)
    return pa.LargeListArray.from_arrays(
        large.offsets, in_whole_microseconds(large.values), mask=large.is_null()
    )


def _is_converted(kind: pa.DataType) -> bool:
    """Returns whether a type has times or durations that are not in microseconds, or times that are not in UTC."""
    if isinstance(kind, pa.TimestampType):
        return bool(kind.unit != "us" or kind.tz not in (None, "UTC"))
    if isinstance(kind, pa.DurationType):
        return bool(kind.unit != "us")
    if isinstance(kind, pa.StructType):
        return any(_is_converted(kind.field(index).type) for index in range(kind.num_fields))
    if isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        inner: pa.DataType = kind.value_type
        return _is_converted(inner)
    return False


def _scaled(array: AnyArray, unit: str, *, limited: bool) -> AnyArray:
    """Returns numbers of a unit in microseconds; those of ``limited`` are kept near the range of times."""
    numbers = np.asarray(array.cast(pa.int64()).fill_null(0), np.int64)
    if unit == "ns":
        numbers = numbers // 1_000
    elif unit in _SCALES:
        scale = _SCALES[unit]
        if limited:
            numbers = numbers.clip(FIRST_MICROSECOND // scale - 1, LAST_MICROSECOND // scale + 1)
        elif len(numbers) and max(-int(numbers.min()), int(numbers.max())) > _MOST // scale:
            worst = numbers[np.argmax(np.abs(numbers))]
            raise DurationRangeError(f"{worst} {unit}")
        numbers = numbers * scale
    return pa.array(numbers, pa.int64(), mask=np.asarray(pc.is_null(array)))
