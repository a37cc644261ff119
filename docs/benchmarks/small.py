"""``--small``, which all benchmarks have: every case over small data in seconds, with the same comparisons of outputs.

Its data and results are in a folder that is removed at the end, so those of ``build/bench``, of which pages are made,
stay as they are. It shows that a benchmark runs; its times say nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from attrs import frozen

from docs.benchmarks.results import Results

N = TypeVar("N", int, float)
BENCH: Final = Path(__file__).parents[2] / "build" / "bench"


@frozen
class Extent:
    """How much a benchmark runs, and the folder of its data and results."""

    small: bool = False
    folder: Path = BENCH

    @property
    def data(self) -> Path:
        """The folder of the data."""
        return self.folder / "data"

    def at_most(self, usual: N, small: N) -> N:
        """Returns the usual number of rows, rounds or seconds, or with ``--small`` at most the small one."""
        return min(usual, small) if self.small else usual

    def results(self, file: str, key: str, names: Sequence[str]) -> Results:
        """Returns a file of results in the folder."""
        return Results(self.folder / file, key, names)


def add_small(parser: ArgumentParser) -> None:
    """Adds the option to the arguments of a benchmark."""
    parser.add_argument(
        "--small",
        action="store_true",
        help="every case over small data, in seconds; keeps no data or results",
    )


@contextmanager
def extent(*, small: bool) -> Iterator[Extent]:
    """Gives the extent of a run; the folder of a small one is removed at the end."""
    if not small:
        BENCH.mkdir(parents=True, exist_ok=True)
        yield Extent()
        return
    with TemporaryDirectory(prefix="flowalg-") as folder:
        yield Extent(small=True, folder=Path(folder))
