"""The k-th smallest number of any range of a sequence, for many ranges at once: a wavelet matrix.

After Claude and Navarro, *The Wavelet Matrix* (SPIRE 2012); the query is the range quantile of Gagie, Puglisi and
Turpin (SPIRE 2009).
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from flowalg_tools.what_if.observed import Integers


@frozen(eq=False)
class WaveletMatrix:
    """A sequence of non-negative integers, bit by bit from the highest.

    ``zeros`` has, for each bit and each position, the number of earlier integers with a zero bit. For the next bit, the
    integers are stably partitioned: those with a zero bit first.
    """

    zeros: tuple[Integers, ...]

    @classmethod
    def of(cls, numbers: Integers) -> WaveletMatrix:
        """Returns the matrix of a sequence, in one pass for each bit of its greatest integer."""
        levels: list[Integers] = []
        left = numbers
        for bit in reversed(range(int(numbers.max(initial=0)).bit_length())):
            is_one = (left >> bit & 1).astype(bool)
            levels.append(np.append(0, np.cumsum(~is_one, dtype=np.int64)))
            left = np.concatenate([left[~is_one], left[is_one]])
        return cls(tuple(levels))

    def smallest(self, starts: Integers, ends: Integers, ranks: Integers) -> Integers:
        """For each range ``[start, end)`` the integer with a rank, where rank 0 is the least.

        Law: it equals ``sorted(numbers[start:end])[rank]``.
        """
        result = np.zeros_like(ranks)
        for level, zeros in enumerate(self.zeros):
            first, last = zeros[starts], zeros[ends]
            is_one = ranks >= last - first
            ranks = np.where(is_one, ranks - (last - first), ranks)
            starts = np.where(is_one, zeros[-1] + starts - first, first)
            ends = np.where(is_one, zeros[-1] + ends - last, last)
            result |= is_one.astype(np.int64) << (len(self.zeros) - 1 - level)
        return result
