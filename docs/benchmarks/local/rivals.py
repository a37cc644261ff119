"""The rivals of a query, each as a function that computes its result; alone in a process for its peak memory.

``python -m docs.benchmarks.local.rivals QUERY RIVAL DATA ROWS`` runs one once and prints the peak in bytes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
from flowalg_polars import batch

from docs.benchmarks.batch.data import Files, Offer, Sale, files
from docs.benchmarks.batch.pipelines import OFFERS, PIPELINES, SALES
from docs.benchmarks.local.by_hand import COLUMNS, DUCKDB, POLARS
from flowalg import Source
from flowalg.pipeline import sources

CORES: Final = 2


def rivals(query: str, where: Files) -> Mapping[str, Callable[[], pl.DataFrame]]:
    """The functions that compute a query, from scanning its files to a frame in memory."""
    inputs: dict[Source[Sale] | Source[Offer], str] = {SALES: str(where.sales)}
    if OFFERS in sources(PIPELINES[query]):
        inputs[OFFERS] = str(where.offers)
    sales, offers = (f"{path}/*.parquet" for path in (where.sales, where.offers))
    database = duckdb.connect(config={"threads": CORES})
    # The session's zone decides where minutes begin.
    database.execute("set timezone = 'UTC'")
    for name, path in (("sales", sales), ("offers", offers)):
        database.execute(f"create view {name} as select * from '{path}'")

    def with_flowalg() -> pl.DataFrame:
        panes = batch.compile(PIPELINES[query], inputs)
        return panes.select(
            column.alias(f"c{number}") for number, column in enumerate(COLUMNS[query])
        ).collect(engine="streaming")

    def with_polars() -> pl.DataFrame:
        by_hand = POLARS[query](pl.scan_parquet(sales), pl.scan_parquet(offers))
        return by_hand.collect(engine="streaming")

    def with_duckdb() -> pl.DataFrame:
        frame = pl.from_arrow(database.sql(DUCKDB[query]).to_arrow_table())
        assert isinstance(frame, pl.DataFrame)
        return frame

    return {"flowalg": with_flowalg, "polars": with_polars, "duckdb": with_duckdb}


def peak_memory(query: str, rival: str, data: Path, rows: int) -> int:
    """Returns the peak resident memory, in bytes, of a process that computes a query once."""
    command = [sys.executable, "-m", "docs.benchmarks.local.rivals", query, rival, str(data), str(rows)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(finished.stdout.split()[-1])


def main(query: str, rival: str, data: Path, rows: int) -> None:
    """Prints the peak memory of this process after one run."""
    rivals(query, files(data, rows))[rival]()
    print_peak_memory()


def print_peak_memory() -> None:
    """Prints the peak resident memory of this process, in bytes."""
    # Unlike ru_maxrss, the high-water mark does not include the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (kilobytes,) = (line.split()[1] for line in status if line.startswith("VmHWM"))
    print(int(kilobytes) << 10)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
