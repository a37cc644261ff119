"""Faults of what engines add to the step: clocks across shards, exactly-once results, and resharding."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Area, Mutant

ENGINES: Final = (
    Area(
        "exchange",
        ("clock_exchange", "emitted_rows"),
        (
            Mutant(
                "a report without times forgets the end of the input",
                "clocks travel with the rows: a source that has ended has ended for every shard",
                "UntimedReport.at",
                "ClockSummary(partitions, now, ended=self.ended)",
                "ClockSummary(partitions, now)",
            ),
        ),
    ),
    Area(
        "exactly once",
        ("streams", "local_conformance"),
        (
            Mutant(
                "a micro-batch that was committed is repeated",
                "exactly once: what is committed is not computed again",
                "Checkpoint.intent",
                "begun.batch > done",
                "begun.batch >= done",
            ),
            Mutant(
                "a query does not repeat the micro-batch that it had begun",
                "exactly once: a micro-batch that had begun is repeated with the same records",
                "Query.next_intent",
                "return begun",
                "pass",
            ),
            Mutant(
                "a file is read twice",
                "exactly once: a record is read once",
                "FileReader._names",
                "data_files(self.source.name, self.files.folder, self._read)",
                "data_files(self.source.name, self.files.folder, set())",
            ),
        ),
    ),
    Area(
        "resharding",
        ("changes",),
        (
            Mutant(
                "keys stay in their shard when the state is divided",
                "keys are independent, so the state of a key goes where its elements go",
                "_place",
                "shards_of(rows, key, len(shards))",
                "pl.repeat(0, rows.height, dtype=pl.Int32(), eager=True)",
            ),
            Mutant(
                "elements that wait for a side input are lost when the state is divided",
                "dividing a state loses and repeats nothing",
                "_reshard_sides",
                "waiting.gather_every(shards, number)",
                "waiting.gather_every(shards, 0)",
            ),
        ),
    ),
)
