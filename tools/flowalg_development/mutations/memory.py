"""Faults of what a shard remembers: of which windows rest, and of the log of segments."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

MEMORY_MUTANTS: Final = (
    Replacement(
        "the hold of a dormant window is ignored",
        "Grouping.advance",
        "min(emission.hold, active.dormant.hold)",
        "emission.hold",
    ),
    Replacement(
        "a window rests until it expires",
        "_next_watermark",
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END))",
        "pl.when(pl.col(END) > clocks.watermark).then(expires)",
    ),
    Replacement(
        "a window rests for ever once it has ended",
        "_next_watermark",
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END)).otherwise(expires)",
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END)).otherwise(last)",
    ),
    Replacement(
        "a trigger that moves on without news rests",
        "with_wakeups",
        "again[FIRES] & one",
        "again[FIRES] & one & False",
    ),
    Replacement(
        "a percentile watermark wakes nobody",
        "greatest_watermark",
        "max((clocks.watermark, *clocks.percentiles.values()))",
        "clocks.watermark",
    ),
    Replacement(
        "a signal wakes nobody",
        "activates_all",
        "(name in clocks.signals for _, name in stage.automaton.summary.signals)",
        "(name in clocks.signals for _, name in stage.automaton.summary.signals[:0])",
    ),
    Replacement(
        "a deadline wakes once it is past",
        "VisibleSegment.due",
        "pl.col(NEXT_TIME) <= clocks.processing_time",
        "pl.col(NEXT_TIME) < clocks.processing_time",
    ),
    Replacement(
        "an end wakes once it is past",
        "VisibleSegment.due",
        "pl.col(NEXT_WATERMARK) <= watermark",
        "pl.col(NEXT_WATERMARK) < watermark",
    ),
    Replacement(
        "compacted segments forget what they hide",
        "_compact",
        "pl.DataFrame() if oldest else _tombstones(hidden, windows, hashed)",
        "pl.DataFrame()",
    ),
    Replacement(
        "a removed window leaves no tombstone",
        "ActiveWindows.put_back",
        "_tombstones([self.windows], windows, hashed)",
        "pl.DataFrame()",
    ),
    Replacement(
        "a restored segment hides nothing",
        "WindowStore.restore",
        "hidden.append(part.segment.hashes)",
        "hidden.append(part.segment.hashes.clear())",
    ),
    Replacement(
        "windows that are taken out stay behind too",
        "_take",
        "visible.clone().scatter(positions, False)",
        "visible",
    ),
    Replacement(
        "a state is found under any token", "StateCache.state", "written_with == token", "written_with"
    ),
    Replacement(
        "a segment that is not needed any more stays in the log",
        "Store.write",
        "self.log.removeKey((name, number))",
        "pass",
    ),
    Replacement(
        "a checksum is not verified", "unseal", "crc32(found[4:]) != int.from_bytes(found[:4])", "not found"
    ),
)

__all__ = ["MEMORY_MUTANTS"]
