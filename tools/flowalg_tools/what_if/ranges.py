"""The k-th smallest of any stretch of a sequence, for many stretches at once: a wavelet matrix.

After Claude and Navarro, *The Wavelet Matrix* (SPIRE 2012); the query is the range quantile of Gagie, Puglisi and
Turpin (SPIRE 2009).
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from flowalg_tools.what_if.observed import Integers


@frozen(eq=False)
class WaveletMatrix:
    """A sequence of whole numbers, none negative, bit by bit from the highest.

    ``zeros`` has for each bit how many numbers before each position have a zero there. For the next bit, the numbers
    with a zero come first, otherwise in the order they had.
    """

    zeros: tuple[Integers, ...]

    @classmethod
    def of(cls, numbers: Integers) -> WaveletMatrix:
        """The matrix of a sequence: as many passes over it as its greatest number has bits."""
        levels: list[Integers] = []
        left = numbers
        for bit in reversed(range(int(numbers.max(initial=0)).bit_length())):
            is_one = (left >> bit & 1).astype(bool)
            levels.append(np.append(0, np.cumsum(~is_one, dtype=np.int64)))
            left = np.concatenate([left[~is_one], left[is_one]])
        return cls(tuple(levels))

    def smallest(self, starts: Integers, ends: Integers, ranks: Integers) -> Integers:
        """Of each stretch ``[start, end)`` the number of a rank, where rank 0 is the least.

        Law: it is ``sorted(numbers[start:end])[rank]``.
        """
        found = np.zeros_like(ranks)
        for level, zeros in enumerate(self.zeros):
            first, last = zeros[starts], zeros[ends]
            is_one = ranks >= last - first
            ranks = np.where(is_one, ranks - (last - first), ranks)
            starts = np.where(is_one, zeros[-1] + starts - first, first)
            ends = np.where(is_one, zeros[-1] + ends - last, last)
            found |= is_one.astype(np.int64) << (len(self.zeros) - 1 - level)
        return found


__all__ = ["WaveletMatrix"]
