"""The result of running a pipeline, the same for all interpreters: its output or several outputs, and its drops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, overload

from attrs import evolve, field, frozen

from flowalg.data.views import HasView
from flowalg.pipeline.outputs import output_name
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.output import Output
from flowalg.runs.panes import Drop, Pane

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


@frozen
class Run(Output[A_co]):
    """What a pipeline emitted and dropped: ``panes``, or ``elements`` if it groups nothing, and ``dropped``.

    ``dropped`` says how many elements were dropped where, when, and why: one drop for each key, window and instant, or
    one for each element, as the interpreter knows them. ``bad_records`` are the records and elements that a run with
    ``dead_letters=True`` has kept apart, sorted; without it, they fail the run. ``unfired_timers`` is the number of
    timers that firings at the end of the input have set, which do not fire (SEMANTICS section 17); ``None`` on Spark,
    where a stream has it in its metrics, and a batch does not count it.
    """

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[Drop, ...]
    bad_records: tuple[BadRecord, ...] = field(default=(), kw_only=True)
    unfired_timers: int | None = field(default=None, kw_only=True)


@frozen
class Outputs(HasView):
    """What several outputs of one run emitted, and what the run dropped.

    ``outputs[name]`` is an output by its name, and ``outputs[collection]`` the same by its collection, with its type.
    ``dropped`` are the drops of all groupings and side inputs, and ``bad_records`` those of all steps, each once,
    however many outputs read them; so are ``unfired_timers``, as in a ``Run``.
    """

    by_name: Mapping[str, Output[object]]
    dropped: tuple[Drop, ...]
    collections: Mapping[str, PCollection[object]] = field(repr=False, eq=False)
    bad_records: tuple[BadRecord, ...] = field(default=(), kw_only=True)
    unfired_timers: int | None = field(default=None, kw_only=True)

    @overload
    def __getitem__(self, which: str) -> Output[object]: ...
    @overload
    def __getitem__(self, which: PCollection[A]) -> Output[A]: ...
    def __getitem__(self, which: str | PCollection[object]) -> Output[object]:
        return self.by_name[output_name(self.collections, which)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)


def run_of(outputs: Outputs, pipeline: PCollection[A]) -> Run[A]:
    """Returns the run of a pipeline that is the only output."""
    output = outputs[pipeline]
    return Run(
        output.panes,
        outputs.dropped,
        elements=output.elements,
        bad_records=outputs.bad_records,
        unfired_timers=outputs.unfired_timers,
    )


R = TypeVar("R", bound=Run[object] | Outputs)


def with_bad_records(run: R, more: Iterable[BadRecord]) -> R:
    """Returns a run with more bad records."""
    return evolve(run, bad_records=tuple(sorted([*run.bad_records, *more])))
