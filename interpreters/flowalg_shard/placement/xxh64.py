"""XXH64 of many values at once, each with a seed of its own, in NumPy, whose unsigned integers wrap around."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from flowalg.runs.placement import PRIMES

Words: TypeAlias = npt.NDArray[np.uint64]
Lengths: TypeAlias = npt.NDArray[np.int64]

_PRIME1, _PRIME2, _PRIME3, _PRIME4, _PRIME5 = map(np.uint64, PRIMES)
_FIRST_LANES: Final = np.array([PRIMES[0] + PRIMES[1], PRIMES[1], 0, -PRIMES[0]], object) % (1 << 64)
_LANE_SEEDS: Final[Words] = _FIRST_LANES.astype(np.uint64)
_LANE_TURNS: Final = (1, 7, 12, 18)
_STRIPE: Final = 32
_WORD: Final = 8
_HALF: Final = 4


def hash_words(words: Words, seeds: Words) -> Words:
    """Returns the hashes of values of 8 bytes."""
    return _avalanche(_add_words(seeds + _PRIME5 + np.uint64(_WORD), words))


def hash_halves(halves: npt.NDArray[np.uint32], seeds: Words) -> Words:
    """Returns the hashes of values of 4 bytes."""
    return _avalanche(_add_halves(seeds + _PRIME5 + np.uint64(_HALF), halves))


def hash_bytes(data: npt.NDArray[np.uint8], starts: Lengths, lengths: Lengths, seeds: Words) -> Words:
    """Returns the hashes of values of any length: ``lengths`` bytes of ``data`` from ``starts``.

    A pass takes the next bytes of all values that have so many.
    """
    # Words begin at any byte, and the last ones may end after the data.
    padded = np.concatenate([data, np.zeros(_WORD - 1, np.uint8)])
    words = np.ndarray((len(data),), "<u8", padded, strides=(1,))
    halves = np.ndarray((len(data),), "<u4", padded, strides=(1,))
    digests = seeds + _PRIME5
    long = np.flatnonzero(lengths >= _STRIPE)
    if len(long):
        digests[long] = _hash_stripes(words, starts[long], lengths[long] // _STRIPE, seeds[long])
    digests += lengths.astype(np.uint64)
    # The rest of a value is up to three words, a half of one, and up to three bytes.
    for offset in range(0, _STRIPE - _WORD, _WORD):
        rows = np.flatnonzero((lengths & (_STRIPE - 1)) >= offset + _WORD)
        places = (starts + (lengths & -_STRIPE))[rows] + offset
        digests[rows] = _add_words(digests[rows], words[places])
    rows = np.flatnonzero((lengths & (_WORD - 1)) >= _HALF)
    places = (starts + (lengths & -_WORD))[rows]
    digests[rows] = _add_halves(digests[rows], halves[places])
    for offset in range(_HALF - 1):
        rows = np.flatnonzero((lengths & (_HALF - 1)) > offset)
        places = (starts + (lengths & -_HALF))[rows] + offset
        digests[rows] = _add_bytes(digests[rows], data[places])
    return _avalanche(digests)


def _hash_stripes(words: Words, starts: Lengths, stripes: Lengths, seeds: Words) -> Words:
    """Returns the digests of the stripes of 32 bytes at the beginning of values."""
    lanes = seeds[:, None] + _LANE_SEEDS
    rows = np.arange(len(starts))
    stripe = 0
    while len(rows):
        offsets = starts[rows, None] + (stripe * _STRIPE + np.arange(0, _STRIPE, _WORD))
        lanes[rows] = _round(lanes[rows], words[offsets])
        stripe += 1
        rows = rows[stripes[rows] > stripe]
    digests = np.zeros_like(seeds)
    for lane, turn in enumerate(_LANE_TURNS):
        digests += _rotate(lanes[:, lane], turn)
    for lane in range(len(_LANE_TURNS)):
        digests = (digests ^ _round(np.uint64(0), lanes[:, lane])) * _PRIME1 + _PRIME4
    return digests


def _add_words(digests: Words, words: Words) -> Words:
    return _rotate(digests ^ _round(np.uint64(0), words), 27) * _PRIME1 + _PRIME4


def _add_halves(digests: Words, halves: npt.NDArray[np.uint32]) -> Words:
    return _rotate(digests ^ halves.astype(np.uint64) * _PRIME1, 23) * _PRIME2 + _PRIME3


def _add_bytes(digests: Words, data: npt.NDArray[np.uint8]) -> Words:
    return _rotate(digests ^ data.astype(np.uint64) * _PRIME5, 11) * _PRIME1


def _round(lanes: Words | np.uint64, words: Words) -> Words:
    return _rotate(lanes + words * _PRIME2, 31) * _PRIME1


def _rotate(words: Words, turn: int) -> Words:
    return words << np.uint64(turn) | words >> np.uint64(64 - turn)


def _avalanche(digests: Words) -> Words:
    digests = (digests ^ digests >> np.uint64(33)) * _PRIME2
    digests = (digests ^ digests >> np.uint64(29)) * _PRIME3
    return digests ^ digests >> np.uint64(32)
