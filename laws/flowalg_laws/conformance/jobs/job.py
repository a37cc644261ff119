"""A job: a named pipeline with its input, beside plain Python that says what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar

from attrs import field, frozen

from flowalg import PCollection
from flowalg.analysis.features import Feature, features_of
from flowalg.data.errors import ArgumentError
from flowalg_laws.conformance.jobs.replay import Feed, Replay
from flowalg_laws.kit.readings import START

Span: TypeAlias = tuple[datetime, datetime] | None
"""The start and the end of a window, or ``None`` for all of time."""

Answer: TypeAlias = Iterable[tuple[object, Span]]
"""The elements of a result, each with its window, in any order."""

A = TypeVar("A")
K = TypeVar("K")


@frozen
class Job:
    """A pipeline, what its sources do, and what must come of it.

    ``oracle`` takes the records of each source, as lists, and gives what a batch of them comes to; it is plain Python
    that knows no operator of the algebra. ``panes`` are, for a job that is about panes, all of them in order, as
    ``pane_line`` shows them, and ``drops`` all drops, as ``drop_lines`` does.
    """

    name: str
    statement: str
    pipeline: PCollection[object]
    replay: Replay
    oracle: Callable[..., Answer] = field(repr=False)
    panes: tuple[str, ...] | None = field(default=None, repr=False)
    drops: tuple[str, ...] = field(default=(), repr=False)

    @property
    def features(self) -> frozenset[Feature]:
        """What it asks of an interpreter."""
        return features_of(self.pipeline) | self.replay.features | {Feature.STREAMING}

    def answer(self) -> list[tuple[object, Span]]:
        """What a batch of its records comes to."""
        return list(self.oracle(*(list(feed.records) for feed in self.replay.feeds)))


def job(
    pipeline: PCollection[object],
    *feeds: Feed[object],
    ends: bool = True,
    panes: str | None = None,
    drops: str = "",
    name: str = "",
    statement: str = "",
) -> Callable[[Callable[..., Answer]], Job]:
    """Make a job of its oracle: its name is that of the function, its statement the first line of the docstring.

    Both can be given where jobs share an oracle. Transcripts are text with one pane, or one drop, to a line. Raises
    ``ArgumentError`` when there is no statement.
    """

    def made(oracle: Callable[..., Answer]) -> Job:
        title = name or getattr(oracle, "__name__", "").replace("_", " ")
        says = statement or (oracle.__doc__ or "").strip().split("\n")[0]
        if not says:
            raise ArgumentError(f"the statement of job {title!r}", says, "a sentence: the oracle's docstring")
        lines = None if panes is None else _lines(panes)
        return Job(title, says, pipeline, Replay(feeds, ends), oracle, lines, _lines(drops))

    return made


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def minutes(start: float, end: float) -> tuple[datetime, datetime]:
    """The span between two minutes after the start of generated time."""
    return START + timedelta(minutes=start), START + timedelta(minutes=end)


def fixed(at: datetime, size: float, offset: float = 0) -> tuple[datetime, datetime]:
    """The fixed window of some minutes that an event time is in, counted from the start."""
    number = (at - START - timedelta(minutes=offset)) // timedelta(minutes=size)
    return minutes(number * size + offset, (number + 1) * size + offset)


def grouped(
    records: Iterable[A], key: Callable[[A], K], spans: Callable[[A], Iterable[Span]]
) -> Iterable[tuple[K, Span, list[A]]]:
    """The records of each key and window, in order of arrival."""
    found: list[tuple[K, Span, list[A]]] = []
    for record in records:
        for span in spans(record):
            for known_key, known_span, some in found:
                if known_key == key(record) and known_span == span:
                    some.append(record)
                    break
            else:
                found.append((key(record), span, [record]))
    return found


__all__ = ["Answer", "Job", "Span", "fixed", "grouped", "job", "minutes"]
