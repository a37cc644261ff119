"""Subtraction of single values from accumulators, also through functions, products and results."""

from __future__ import annotations

from typing import cast

from flowalg.combiners.core import AnyCombiner, Group, Into, Over, Together


def can_subtract(combiner: AnyCombiner) -> bool:
    """Returns whether a combiner is a group, a function before or after one, or a product of such combiners."""
    match combiner:
        case Group():
            return True
        case Over(combiner=inner) | Into(combiner=inner):
            return can_subtract(inner)
        case Together(parts=parts):
            return all(map(can_subtract, parts))
        case _:
            return False


def keeps_values(combiner: AnyCombiner, *, retractions: bool) -> bool:
    """Returns whether a window must keep its values: their order matters, or retractions cannot be subtracted."""
    return combiner.is_ordered or (retractions and not can_subtract(combiner))


def is_signed(combiner: AnyCombiner) -> bool:
    """Returns whether a combiner that can subtract has a result after more subtractions than additions, or as many.

    One with a function of the result has none, since the function may divide by the number of values.
    """
    match combiner:
        case Group():
            return combiner.is_signed
        case Over(combiner=inner):
            return is_signed(inner)
        case Together(parts=parts):
            return all(map(is_signed, parts))
        case _:
            return False


def subtract(combiner: AnyCombiner, accumulator: object, value: object) -> object:
    """Returns the accumulator with a value subtracted, for a combiner that can subtract."""
    match combiner:
        case Group():
            return combiner.subtract(accumulator, value)
        case Over(combiner=inner):
            return subtract(inner, accumulator, combiner.argument(value))
        case Into(combiner=inner):
            return subtract(inner, accumulator, value)
        case Together(parts=parts):
            accumulators = cast("tuple[object, ...]", accumulator)
            return tuple(
                subtract(part, part_accumulator, value)
                for part, part_accumulator in zip(parts, accumulators, strict=True)
            )
        case _:
            raise AssertionError(f"{combiner.title} cannot subtract")
