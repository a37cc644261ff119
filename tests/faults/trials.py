"""Runs of the queries from files with faults: each must write what an undisturbed one writes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from pathlib import Path
from random import Random

from attrs import define, field

from tests.faults.files import QUERIES, FileQuery
from tests.faults.harness import Fault, QueryFailed, Tally, finish
from tests.faults.progress import Batches, join_files


@define
class Trials:
    """Runs over one input, in turns of the queries, and the outputs of undisturbed ones.

    Those outputs are by the query and the files that each micro-batch has read. ``create`` makes a run of a folder.
    """

    root: Path
    files: Path
    create: Callable[[Path], FileQuery]
    expected: dict[tuple[str, Batches], list[str]] = field(factory=dict)
    seconds: dict[str, float] = field(factory=dict)
    """The seconds that an undisturbed process of a query takes."""

    _numbers: Iterator[int] = field(factory=count)

    def run_of(self, query: str, files: Path | None = None) -> FileQuery:
        """Returns a run of a query without a checkpoint, by default over all files."""
        folder = self.root / query / f"run-{next(self._numbers)}"
        folder.mkdir(parents=True)
        (folder / "in").symlink_to(files or self.files)
        return self.create(folder)

    def expect(self, query: str, batches: Batches) -> list[str]:
        """Returns the output of an undisturbed run of a query whose micro-batches read some files."""
        if (query, batches) not in self.expected:
            calm = self.run_of(query)
            if batches:
                (calm.folder / "in").unlink()
                join_files(self.files, batches, calm.folder / "in")
            self.seconds[query] = finish(calm, (), Random(0)).seconds
            rows = self.expected[query, batches] = calm.content()
            print(f"undisturbed {query}: {len(rows):,} rows, {self.seconds[query]:.1f} s", flush=True)
            shutil.rmtree(calm.folder)
        return self.expected[query, batches]

    def matches(self, run: FileQuery) -> bool:
        """Whether the output equals that of an undisturbed run whose micro-batches read the same."""
        return run.content() == self.expect(run.query, run.batches())

    def disturb(
        self,
        tally: Tally,
        faults: Sequence[Fault],
        chance: Random,
        *,
        most: int | None = None,
    ) -> None:
        """Runs the queries in turns until all faults have struck, at most ``most`` in one run, and judges each run.

        A run that was not struck does not count. A query that fails ends all.
        """
        for query in cycle(QUERIES):
            if not faults:
                return
            run = self.run_of(query)
            try:
                finished = finish(run, faults[:most], chance)
            except QueryFailed as error:
                print(error)
                tally.record([faults[0].name], survived=False, of=query)
                return
            struck = len(finished.struck)
            if struck:
                survived = self.matches(run)
                tally.record([fault.name for fault in finished.struck], survived=survived, of=query)
            elif query in self.seconds:
                # It shows that the first run was slow: later faults must come sooner.
                self.seconds[query] = min(self.seconds[query], finished.seconds)
            faults = faults[struck:]
            shutil.rmtree(run.folder)
