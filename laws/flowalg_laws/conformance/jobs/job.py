"""A job: a named pipeline with its input, and plain Python that computes the expected result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeAlias, TypeVar

from attrs import field, frozen

from flowalg import PCollection
from flowalg.analysis.features import AnyFeature, Feature, features_of
from flowalg.data.errors import ArgumentError
from flowalg_laws.kit.readings import START
from flowalg_laws.kit.replay import Feed, Replay

Span: TypeAlias = tuple[datetime, datetime] | None
"""The start and the end of a window, or ``None`` for the global window."""

Answer: TypeAlias = Iterable[tuple[object, Span | datetime]]
"""The elements of a result in any order, each with its window, or with its event time if nothing has grouped it."""

A = TypeVar("A")
K = TypeVar("K")


@frozen
class Job:
    """A pipeline, the input of its sources, and the expected result.

    ``oracle`` is plain Python without operators of the algebra: it takes the records of each source, as lists, and
    returns the result of a batch. For a job about panes, ``panes`` are all panes in order, formatted by ``pane_line``,
    and ``drops`` are all drops, formatted by ``drop_lines``. The pipelines of ``others``, jobs over the same input, are
    further outputs of the same run. A job with ``bad_records`` runs with dead letters; these are all bad records,
    formatted by ``bad_record_line``.
    """

    name: str
    statement: str
    pipeline: PCollection[object]
    replay: Replay
    oracle: Callable[..., Answer] = field(repr=False)
    panes: tuple[str, ...] | None = field(default=None, repr=False)
    drops: tuple[str, ...] = field(default=(), repr=False)
    others: tuple[Job, ...] = field(default=(), repr=False)
    bad_records: tuple[str, ...] = field(default=(), repr=False)

    @property
    def dead_letters(self) -> bool:
        """Whether it runs with dead letters."""
        return bool(self.bad_records)

    @cached_property
    def features(self) -> frozenset[AnyFeature]:
        """The features that an interpreter needs for it."""
        several: set[AnyFeature] = {Feature.SEVERAL_OUTPUTS} if self.others else set()
        if self.dead_letters:
            several.add(Feature.DEAD_LETTERS)
        own = features_of(self.pipeline) | self.replay.features | {Feature.STREAMING}
        return own.union(several, *(other.features for other in self.others))

    @property
    def outputs(self) -> dict[str, PCollection[object]]:
        """All outputs, by the names of their jobs."""
        return {job.name: job.pipeline for job in (self, *self.others)}

    def answer(self) -> list[tuple[object, Span | datetime]]:
        """Returns the expected result of a batch of all records."""
        return list(self.oracle(*(list(feed.records) for feed in self.replay.feeds)))


def job(
    pipeline: PCollection[object],
    *feeds: Feed[object],
    ends: bool = True,
    panes: str | None = None,
    drops: str = "",
    name: str = "",
    statement: str = "",
    others: tuple[Job, ...] = (),
    bad_records: str = "",
) -> Callable[[Callable[..., Answer]], Job]:
    """Makes a job from its oracle: the name of the function is its name, the first line of the docstring its statement.

    Jobs that share an oracle pass ``name`` and ``statement``. ``others`` are further outputs. Transcripts have a line
    for each pane, drop or bad record. Raises ``ArgumentError`` for a job without a statement.
    """

    def make(oracle: Callable[..., Answer]) -> Job:
        title = name or getattr(oracle, "__name__", "").replace("_", " ")
        summary = statement or (oracle.__doc__ or "").strip().split("\n")[0]
        if not summary:
            raise ArgumentError(
                f"the statement of job {title!r}", summary, "a sentence: the oracle's docstring"
            )
        lines = None if panes is None else _lines(panes)
        return Job(
            title,
            summary,
            pipeline,
            Replay(feeds, ends),
            oracle,
            lines,
            _lines(drops),
            others,
            _lines(bad_records),
        )

    return make


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def minutes(start: float, end: float) -> tuple[datetime, datetime]:
    """Returns the span between two minutes after the start of generated time."""
    return START + timedelta(minutes=start), START + timedelta(minutes=end)


def fixed(at: datetime, size: float, offset: float = 0) -> tuple[datetime, datetime]:
    """Returns the fixed window of an event time, with a size in minutes, counted from the start."""
    number = (at - START - timedelta(minutes=offset)) // timedelta(minutes=size)
    return minutes(number * size + offset, (number + 1) * size + offset)


def grouped(
    records: Iterable[A], key: Callable[[A], K], spans: Callable[[A], Iterable[Span]]
) -> Iterable[tuple[K, Span, list[A]]]:
    """Returns the records of each key and window, in order of arrival."""
    groups: list[tuple[K, Span, list[A]]] = []
    for record in records:
        for span in spans(record):
            for known_key, known_span, group in groups:
                if known_key == key(record) and known_span == span:
                    group.append(record)
                    break
            else:
                groups.append((key(record), span, [record]))
    return groups
