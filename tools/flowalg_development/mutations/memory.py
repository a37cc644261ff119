"""Faults of what a shard remembers: of which windows rest, and of the log of segments."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_SHARD: Final = "interpreters/flowalg_shard"
_RESTING: Final = f"{_SHARD}/step/dormancy.py"
_MEMORY: Final = f"{_SHARD}/state/window_store.py"
_OPERATORS: Final = f"{_SHARD}/operators.py"
_STORING: Final = "interpreters/flowalg_spark/state/state_format.py"

MEMORY_MUTANTS: Final = (
    Mutant(
        "what a resting window holds back is forgotten",
        _OPERATORS,
        "min(emission.hold, awake.resting.hold)",
        "emission.hold",
    ),
    Mutant(
        "a window rests until it expires",
        _RESTING,
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END))",
        "pl.when(pl.col(END) > clocks.watermark).then(expires)",
    ),
    Mutant(
        "a window rests for ever once it has ended",
        _RESTING,
        ".otherwise(expires), last",
        ".otherwise(last), last",
    ),
    Mutant(
        "a trigger that moves on without news rests",
        _RESTING,
        "restless |= again[FIRES] & one",
        "restless |= again[FIRES] & one & False",
    ),
    Mutant(
        "a percentile watermark wakes nobody",
        _RESTING,
        "return max((clocks.watermark, *clocks.percentiles.values()))",
        "return clocks.watermark",
    ),
    Mutant(
        "a signal wakes nobody",
        _RESTING,
        "for _, name in stage.automaton.fields.signals)",
        "for _, name in stage.automaton.fields.signals[:0])",
    ),
    Mutant(
        "a deadline wakes once it is past",
        _MEMORY,
        "(pl.col(DUE) <= clocks.processing_time)",
        "(pl.col(DUE) < clocks.processing_time)",
    ),
    Mutant(
        "an end wakes once it is past",
        _MEMORY,
        "(pl.col(WAKES) <= top)",
        "(pl.col(WAKES) < top)",
    ),
    Mutant(
        "segments that are merged forget what they hide",
        _MEMORY,
        "pl.DataFrame() if oldest else _gone(hidden, rows, by)",
        "pl.DataFrame()",
    ),
    Mutant(
        "a class that has no window left is not hidden",
        _MEMORY,
        "gone = _gone([self.rows], rows, by)",
        "gone = pl.DataFrame()",
    ),
    Mutant(
        "a restored segment hides nothing",
        _MEMORY,
        "hidden.append(part.segment.classes)",
        "hidden.append(part.segment.classes.clear())",
    ),
    Mutant(
        "windows that are taken out stay behind too",
        _MEMORY,
        "return table[places], seen.clone().scatter(places, False)",
        "return table[places], seen",
    ),
    Mutant(
        "a state is found under any token",
        "interpreters/flowalg_spark/state/state_cache.py",
        "if own == token",
        "if own",
    ),
    Mutant(
        "a segment that is not needed any more stays in the log",
        _STORING,
        "self.log.removeKey((name, number))",
        "pass",
    ),
    Mutant(
        "a checksum is not looked at",
        _STORING,
        "crc32(found[4:]) != int.from_bytes(found[:4])",
        "not found",
    ),
)

__all__ = ["MEMORY_MUTANTS"]
