"""The steps of a program as sections, which keep the elements apart on which a step fails.

Element-wise work is deterministic and sees one element at a time, so the elements without the bad ones give what they
would have given beside them. A step that can fail is columns with a flag on the rows that fail; Python, which has the
same meaning, then finds the step and the error of these. Other steps are tried as a whole: if they fail, Python
computes all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Final, TypeAlias, assert_never

import polars as pl
from attrs import field, frozen
from flowalg_shard.tables.queries import compute

from flowalg.runs.bad_records import BadRecord
from flowalg_polars.errors import raise_causes

Operation: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]

FAILED: Final = "__failed"
"""The column that flags the rows that fail: true, or false or null for those that do not."""

ROW: Final = "__row"
"""The column with the number of the element that a row belongs to, where an element has any number of rows."""


@frozen
class Sifted:
    """The elements that work gave for good rows, and the bad records."""

    frame: pl.DataFrame
    bad: tuple[BadRecord, ...] = ()


Sift: TypeAlias = Callable[[pl.DataFrame], Sifted]
"""Work in Python that keeps bad records apart, element by element."""


@frozen
class Flags:
    """A step as ``rows`` with the column ``FAILED``, which never fail, and the ``rest`` for elements that do not fail.

    Each element has one row, or any number of rows with its number in the column ``ROW``. The other columns of a row
    that fails are arbitrary.
    """

    rows: Operation
    rest: Operation = field(default=lambda frame: frame, eq=False)


@frozen
class Safe:
    """Operations that cannot fail."""

    operations: tuple[Operation, ...]


@frozen
class Flagged:
    """A step with flags, and the same in Python for the elements that fail."""

    flags: Flags
    in_python: Sift


@frozen
class Tried:
    """Operations that fail as a whole, and the same in Python for all elements if they do."""

    operations: tuple[Operation, ...]
    in_python: Sift


@frozen
class InPython:
    """Steps that only Python computes."""

    in_python: Sift


Section: TypeAlias = Safe | Flagged | Tried | InPython


def apply_operations(operations: Iterable[Operation], frame: pl.LazyFrame) -> pl.LazyFrame:
    """Returns a frame after operations."""
    return reduce(lambda before, operation: operation(before), operations, frame)


def sift(sections: Iterable[Section], rows: pl.DataFrame) -> Sifted:
    """Returns what sections in turn give for rows, without the elements on which one of them fails, and these."""
    frame = rows.lazy()
    bad: list[BadRecord] = []
    for section in sections:
        if isinstance(section, Safe):
            frame = apply_operations(section.operations, frame)
            continue
        before = compute(frame)
        try:
            with raise_causes():
                sifted = _sift(section, before)
        except MemoryError:
            raise
        except Exception:  # whatever it is, Python raises it again unless it is due to an element
            with raise_causes():
                sifted = section.in_python(before)
        frame = sifted.frame.lazy()
        bad += sifted.bad
    return Sifted(compute(frame), tuple(bad))


def _sift(section: Flagged | Tried | InPython, rows: pl.DataFrame) -> Sifted:
    match section:
        case Flagged(flags=flags, in_python=in_python):
            return _by_flags(flags, in_python, rows)
        case Tried(operations=operations):
            return Sifted(compute(apply_operations(operations, rows.lazy())))
        case InPython(in_python=in_python):
            return in_python(rows)
    assert_never(section)


def _by_flags(flags: Flags, in_python: Sift, rows: pl.DataFrame) -> Sifted:
    """Returns what a step gives for the rows on which it does not fail, and what Python makes of the others."""
    flagged = compute(flags.rows(rows.lazy()))
    failed = flagged[FAILED].fill_null(False)
    if not failed.any():
        return Sifted(_good(flags, flagged))
    bad = failed
    if ROW in flagged.columns:
        numbers = flagged[ROW].filter(failed).implode()
        failed = flagged[ROW].is_in(numbers)
        bad = rows.select(pl.int_range(pl.len(), dtype=pl.UInt32()).is_in(numbers)).to_series()
    good, others = _good(flags, flagged.filter(~failed)), in_python(rows.filter(bad))
    return Sifted(pl.concat([good, others.frame]), others.bad)


def _good(flags: Flags, rows: pl.DataFrame) -> pl.DataFrame:
    return compute(flags.rest(rows.lazy().drop(FAILED, ROW, strict=False)))
