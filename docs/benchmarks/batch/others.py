"""For comparison: the first two queries in Polars and DuckDB, with as many threads as Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

QUERIES: Final = ("fixed-window sum", "several aggregates at once")

_POLARS: Final[Mapping[str, str]] = {
    QUERIES[0]: "pl.col('amount').sum()",
    QUERIES[
        1
    ]: "pl.len(), pl.col('amount').sum().alias('total'), pl.col('amount').max(), pl.col('price').mean()",
}
_DUCKDB: Final[Mapping[str, str]] = {
    QUERIES[0]: "sum(amount)",
    QUERIES[1]: "count(*), sum(amount), max(amount), avg(price)",
}
_PROGRAM: Final = """
import time
{setup}
times = []
for _ in range({rounds} + 1):
    start = time.perf_counter()
    {run}
    times.append(time.perf_counter() - start)
print(sorted(times[1:])[{rounds} // 2])
"""


def seconds(engine: str, query: str, sales: Path, threads: int, rounds: int) -> float:
    """The median time of a query in a separate process, after a warm-up run."""
    files = f"{sales}/*.parquet"
    if engine == "Polars":
        setup = f"import os\nos.environ['POLARS_MAX_THREADS'] = '{threads}'\nimport polars as pl"
        run = (
            f"pl.scan_parquet({files!r}).group_by('user', pl.col('at').dt.truncate('1m'))"
            f".agg({_POLARS[query]}).collect(engine='streaming')"
        )
    else:
        setup = f"import duckdb\ndb = duckdb.connect(config={{'threads': {threads}}})"
        minute = "date_trunc('minute', \"at\")"
        sql = f"select \"user\", {minute}, {_DUCKDB[query]} from '{files}' group by all"
        run = f"db.sql({sql!r}).to_arrow_table()"
    code = _PROGRAM.format(setup=setup, run=run, rounds=rounds)
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # DuckDB prints a progress bar first.
    return float(finished.stdout.split()[-1])
