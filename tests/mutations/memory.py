"""Faults of the state of a shard: of dormant windows, and of the log of segments."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

MEMORY_MUTANTS: Final = (
    Replacement(
        "the hold of a dormant window is ignored",
        "Grouping.step",
        "min(emission.hold, active.dormant.hold)",
        "emission.hold",
    ),
    Replacement(
        "a dormant window is due only when it expires",
        "_next_watermark",
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END))",
        "pl.when(pl.col(END) > clocks.watermark).then(expires)",
    ),
    Replacement(
        "a dormant window is never due after its end",
        "_next_watermark",
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END)).otherwise(expires)",
        "pl.when(pl.col(END) > clocks.watermark).then(pl.col(END)).otherwise(last)",
    ),
    Replacement(
        "a window is dormant although its trigger can fire again without input",
        "_with_wakeups",
        "again[FIRES] & one",
        "again[FIRES] & one & False",
    ),
    Replacement(
        "no window is due at a percentile watermark",
        "greatest_watermark",
        "max((clocks.watermark, *clocks.percentiles.values()))",
        "clocks.watermark",
    ),
    Replacement(
        "no window is due at a signal",
        "activates_all",
        "(name in given for _, name in stage.automaton.summary.signals)",
        "(name in given for _, name in stage.automaton.summary.signals[:0])",
    ),
    Replacement(
        "a window is due only after its deadline",
        "VisibleSegment.due",
        "pl.col(NEXT_TIME) <= clocks.processing_time",
        "pl.col(NEXT_TIME) < clocks.processing_time",
    ),
    Replacement(
        "a window is due only after the watermark has passed its end",
        "VisibleSegment.due",
        "pl.col(NEXT_WATERMARK) <= watermark",
        "pl.col(NEXT_WATERMARK) < watermark",
    ),
    Replacement(
        "compaction loses tombstones",
        "_compact",
        "[] if oldest else [*older.hidden, *newer.hidden]",
        "[]",
    ),
    Replacement(
        "a removed window leaves no tombstone",
        "ActiveWindows.put_rows_back",
        "_tombstones(self.hidden, rows, hashed)",
        "pl.DataFrame()",
    ),
    Replacement(
        "a restored segment does not hide earlier rows",
        "WindowStore.restore",
        "hidden.append(part.segment.hashes)",
        "hidden.append(part.segment.hashes.clear())",
    ),
    Replacement(
        "active windows also stay in their segment",
        "_take",
        "visible.clone().scatter(positions, False)",
        "visible",
    ),
    Replacement(
        "the state cache ignores the token", "StateCache.state", "written_with == token", "written_with"
    ),
    Replacement(
        "an unused segment stays in the log",
        "Store.write",
        "self.log.removeKey((name, number))",
        "pass",
    ),
    Replacement(
        "a checksum is not verified", "unseal", "crc32(found[4:]) != int.from_bytes(found[:4])", "not found"
    ),
)
