"""The answers of Flink's SQL, in an environment and a process of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

import polars as pl
from attrs import frozen

from docs.benchmarks.nexmark.answers import from_frame
from docs.benchmarks.nexmark.engines import CORES, Tables
from docs.benchmarks.nexmark.query import Query
from tests.components.jars import missing_jars, resolve_jars
from tests.components.processes import kill_tree
from tests.peers.claims.flink import FLINK
from tests.peers.environments import MissingPeer, python_of

PROGRAM: Final = Path(__file__).parent / "programs" / "flink_sql.py"
JARS: Final = (
    "org.apache.flink:flink-sql-parquet:2.3.0",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
    "com.github.luben:zstd-jni:1.5.7-4",
)
"""Flink's reader of Parquet files, and what it needs of Hadoop and for the compression of Polars."""


@frozen
class Flink:
    """A process that answers queries."""

    requests: IO[bytes]
    answers: IO[bytes]
    log: Path

    def answer(self, query: Query, tables: Tables) -> pl.DataFrame:
        """Returns the answer to a query."""
        rows = cast("Sequence[Sequence[object]]", self._ask(query, tables, collect=True)["rows"])
        frame = pl.DataFrame(rows, orient="row", infer_schema_length=None)
        return from_frame(frame.with_columns(_times(frame)))

    def run(self, query: Query, tables: Tables) -> None:
        """Computes and discards the rows of a query."""
        self._ask(query, tables, collect=False)

    def _ask(self, query: Query, tables: Tables, *, collect: bool) -> dict[str, Any]:
        folders = {name: str(folder) for name, folder in tables.items()}
        request = {"sql": query.flink_sql or query.sql, "tables": folders, "collect": collect}
        self.requests.write(json.dumps(request).encode() + b"\n")
        self.requests.flush()
        # Flink logs to the same stream.
        lines = (line for line in iter(self.answers.readline, b"") if line.startswith(b"{"))
        line = next(lines, None)
        answer: dict[str, Any] = json.loads(line) if line else {"error": self.log.read_text()[-2_000:]}
        if "error" in answer:
            raise RuntimeError(f"{query.label}: Flink: {answer['error']}")
        return answer


@contextmanager
def flink() -> Iterator[Flink | None]:
    """Gives a running Flink; ``None``, with a line that says how to install it, if it is missing."""
    try:
        missing = missing_jars("flink")
        if missing is not None:
            raise MissingPeer(missing)
        python = python_of(FLINK)
    except MissingPeer as error:
        print(f"Flink is skipped: {error}")
        yield None
        return
    jars = [path.as_uri() for path in resolve_jars("flink", JARS)]
    settings = json.dumps({"jars": jars, "parallelism": CORES})
    with tempfile.TemporaryDirectory(prefix="flowalg-") as scratch:
        log = Path(scratch) / "flink.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [python, PROGRAM, settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Flink(process.stdin, process.stdout, log)
        finally:
            kill_tree(process)
            process.wait()


def _times(frame: pl.DataFrame) -> Iterator[pl.Expr]:
    """Yields the columns of text that are timestamps, as such."""
    texts = frame.select(pl.col(pl.String))
    for name in texts.columns:
        moment = pl.col(name).str.contains(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
        if not texts.is_empty() and texts.select(moment.all()).item():
            yield pl.col(name).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", time_zone="UTC")
