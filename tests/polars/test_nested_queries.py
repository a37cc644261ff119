"""Queries of Polars inside functions that Polars calls: they must not use the streaming engine, which can deadlock.

The streaming engine is the default of ``collect``. If all of its threads run such functions, the queries inside them
never start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar

import polars as pl
import pytest
from attrs import define, field
from flowalg_laws.conformance import BATCH_JOBS, JOBS, check_interpreter
from flowalg_polars import PolarsBatch, PolarsStreaming

from flowalg import Interpreter

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")


@define
class Watch:
    """The number of queries that run, and the engines of those that began while another one ran."""

    running: int = 0
    nested: list[object] = field(factory=list)
    _lock: Lock = field(factory=Lock)

    def around(self, collect: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[A, P], R]:
        """Returns a function that collects, and records the query."""

        @wraps(collect)
        def watched(frames: A, /, *arguments: P.args, **options: P.kwargs) -> R:
            with self._lock:
                if self.running:
                    self.nested.append(options.get("engine", "auto"))
                self.running += 1
            try:
                return collect(frames, *arguments, **options)
            finally:
                with self._lock:
                    self.running -= 1

        return watched


@pytest.mark.long
@pytest.mark.parametrize(
    "engine",
    [
        PolarsBatch(),
        PolarsBatch(dead_letters=True),
        pytest.param(PolarsStreaming(), marks=pytest.mark.thorough),
        pytest.param(PolarsStreaming(dead_letters=True), marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_queries_inside_of_queries_run_in_memory(
    engine: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no job does a function that Polars calls start a query of the streaming engine."""
    watch = Watch()
    monkeypatch.setattr(pl.LazyFrame, "collect", watch.around(pl.LazyFrame.collect))
    monkeypatch.setattr(pl, "collect_all", watch.around(pl.collect_all))
    jobs = BATCH_JOBS if isinstance(engine, PolarsBatch) else JOBS
    check_interpreter(engine, jobs=jobs, generated=0)
    assert set(watch.nested) <= {"in-memory"}
    assert watch.nested or not isinstance(engine, PolarsBatch)
