"""Generated changes of pipelines: each continues with the panes of a fresh run, or is refused before any data is read.

A change is *silent* if it is neither: other panes, an error after the start, or a plan that says something else than
the start.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, Final

from attrs import evolve, frozen
from flowalg_polars import streaming
from hypothesis import strategies as st
from returns.maybe import Maybe, Nothing, Some
from returns.result import Failure, Result, Success

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    Max,
    Mean,
    Min,
    PCollection,
    Repeat,
    Sessions,
    Sum,
    ToList,
    TopN,
)
from flowalg.combiners import ToSet
from flowalg.errors import FlowalgError
from tests.differential.comparing import Comparer
from tests.polars.test_streams import stream_of
from tests.support import deployed
from tests.support.scores import SCORES, Score, minute
from tests.support.versions import MINUTE, PLACES, Field, Settings, Version, is_enum


class Kind(Enum):
    """A kind of item."""

    LOW = "low"
    HIGH = "high"


class MoreKinds(Enum):
    """The kinds of a later version."""

    LOW = "low"
    MIDDLE = "middle"
    HIGH = "high"


class OtherKinds(Enum):
    """Kinds of which one has gone."""

    LOW = "low"


for _kind in (Kind, MoreKinds, OtherKinds):  # each is the same class of another version
    _kind.__module__, _kind.__name__, _kind.__qualname__ = deployed.__name__, Kind.__name__, Kind.__name__


@frozen
class Inner:
    """A part of an item."""

    a: int
    b: str


@frozen
class LongerInner:
    """The part in a later version."""

    b: str
    a: float
    c: str | None = None


@frozen
class OtherInner:
    """The part with a field that has no default."""

    a: int
    b: str
    c: int


Value = tuple[Any, Callable[[int], Any]]
"""A type of fields, and the value of a number."""

TEXT: Final[Value] = (str, lambda n: f"t{n % 3}")
INT: Final[Value] = (int, lambda n: n % 4)
INNER: Final[Value] = (Inner, lambda n: Inner(n % 3, "x"))
KIND: Final[Value] = (Kind, lambda n: Kind.LOW)

TYPES: Final[dict[str, list[Value]]] = {
    "int": [
        INT,
        (float, lambda n: float(n % 4)),
        (int | None, lambda n: n % 4),
        (Decimal, lambda n: Decimal(n % 4)),
        (int | str, lambda n: n % 4),
        (str, lambda n: str(n % 4)),
    ],
    "text": [TEXT, (str | None, TEXT[1]), (int | str, TEXT[1]), (bytes, lambda n: b"x")],
    "flag": [(bool, lambda n: n % 2 == 0), (bool | None, lambda n: n % 2 == 0), INT],
    "optional": [
        (int | None, lambda n: None if n % 2 else n % 4),
        (float | None, lambda n: None if n % 2 else float(n % 4)),
        INT,
    ],
    "list": [
        (list[int], lambda n: [n % 4, 1]),
        (list[float], lambda n: [float(n % 4), 1.0]),
        (list[int | None], lambda n: [n % 4, 1]),
        (list[int] | None, lambda n: [n % 4, 1]),
        (tuple[int, int], lambda n: (n % 4, 1)),
    ],
    "set": [
        (frozenset[int], lambda n: frozenset({n % 4, 1})),
        (frozenset[float], lambda n: frozenset({float(n % 4), 1.0})),
        (set[int], lambda n: {n % 4, 1}),
    ],
    "pair": [
        (tuple[int, str], lambda n: (n % 4, "x")),
        (tuple[float, str | None], lambda n: (float(n % 4), "x")),
        (tuple[int, str, int], lambda n: (n % 4, "x", 1)),
    ],
    "inner": [
        INNER,
        (LongerInner, lambda n: LongerInner("x", float(n % 3))),
        (Inner | None, INNER[1]),
        (Inner | str, INNER[1]),
        (list[LongerInner], lambda n: []),
        (OtherInner, lambda n: OtherInner(n % 3, "x", 1)),
    ],
    "inners": [
        (list[Inner], lambda n: [Inner(n % 3, "x")] * (n % 3)),
        (list[LongerInner], lambda n: [LongerInner("x", float(n % 3))] * (n % 3)),
        (list[OtherInner], lambda n: []),
    ],
    "kind": [KIND, (MoreKinds, lambda n: MoreKinds.LOW), (OtherKinds, lambda n: OtherKinds.LOW), TEXT],
    "maybe": [
        (Maybe[int], lambda n: Some(n % 4) if n % 2 else Nothing),
        (Maybe[float], lambda n: Some(float(n % 4)) if n % 2 else Nothing),
        (int | None, lambda n: n % 4),
    ],
    "result": [
        (Result[int, str], lambda n: Success(n % 4) if n % 2 else Failure("x")),
        (Result[float, str | None], lambda n: Success(float(n % 4)) if n % 2 else Failure("x")),
        (Result[int, Inner], lambda n: Success(n % 4)),
    ],
    "either": [
        (int | str, lambda n: n % 4 if n % 2 else "x"),
        (int | str | None, lambda n: n % 4 if n % 2 else "x"),
        (int, lambda n: n % 4),
    ],
}
"""Types of fields by name, the first one before and the others after a change."""

NUMBER: Final = Field("number", int, lambda n: n)

PLAIN: Final = ("int", "text", "flag", "optional", "pair", "inner", "kind", "either", "set")
"""The types whose values may be keys, and items of sets."""


@frozen
class Deployment:
    """A version of a program."""

    version: Version
    settings: Settings


@frozen
class Changed:
    """A program that changes: where its state has items, both deployments, and after which micro-batch it stops."""

    place: str
    before: Deployment
    after: Deployment
    stop: int
    shards: int
    exact: bool

    def __str__(self) -> str:
        return f"place {self.place!r}, stop {self.stop}, shards {self.shards}\nbefore {self.before}\nafter {self.after}"


@st.composite
def changes(draw: st.DrawFn) -> Changed:
    """Returns a program that changes in up to three ways."""
    place = draw(st.sampled_from([*PLACES, "combiners", "combiners"]))
    kinds = PLAIN if place in ("keys", "sets") else tuple(TYPES)
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    fields = [Field(f"f{number}", *TYPES[kind][0]) for number, kind in enumerate(chosen)]
    before = Version((NUMBER, *fields))
    settings = draw(_settings())
    after, changed, exact = before, settings, True
    for _ in range(draw(st.integers(1, 3))):
        if place == "combiners" or draw(st.integers(0, 9)) == 0:
            changed, keeps = draw(_changed_settings(changed))
            exact = exact and keeps
        else:
            after = draw(_changed_version(before, after, chosen))
    return Changed(
        place,
        Deployment(before, settings),
        Deployment(after, changed),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 2)),
        exact,
    )


COMBINERS: Final[tuple[Any, ...]] = (Sum(), Count(), Mean(), Min(), Max(), ToList(), ToSet(), TopN(2))


@st.composite
def _settings(draw: st.DrawFn) -> Settings:
    return Settings(
        draw(st.sampled_from(list(Accumulation))),
        draw(st.sampled_from(_TRIGGERS)),
        draw(st.sampled_from([MINUTE, 3 * MINUTE, 60 * MINUTE])),
        draw(st.sampled_from([FixedWindows(MINUTE), FixedWindows(MINUTE), Sessions(MINUTE)])),
        tuple(draw(st.lists(st.sampled_from(COMBINERS), min_size=1, max_size=3))),
    )


_TRIGGERS: Final = (
    Repeat(AtCount(1)),
    Repeat(AtCount(2)),
    AtWatermark(),
    AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
    AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(2)),
)


@st.composite
def _changed_settings(draw: st.DrawFn, settings: Settings) -> tuple[Settings, bool]:
    """Returns other settings, and whether panes must still be those of a fresh run."""
    match draw(
        st.sampled_from(["combiners", "combiners", "combiners", "trigger", "lateness", "windows", "mode"])
    ):
        case "combiners":
            combiners = list(settings.combiners)
            match draw(st.sampled_from(["add", "count", "remove", "reverse"])):
                case "add":
                    combiners.insert(draw(st.integers(0, len(combiners))), draw(st.sampled_from(COMBINERS)))
                case "count":
                    combiners.append(Count())
                case "remove" if len(combiners) > 1:
                    combiners.pop(draw(st.integers(0, len(combiners) - 1)))
                case _:
                    combiners.reverse()
            return evolve(settings, combiners=tuple(combiners[:4])), True
        case "trigger":
            return evolve(settings, trigger=draw(st.sampled_from(_TRIGGERS))), False
        case "lateness":
            return evolve(
                settings, lateness=draw(st.sampled_from([MINUTE, 60 * MINUTE, 120 * MINUTE]))
            ), False
        case "windows":
            return evolve(
                settings, windows=draw(st.sampled_from([FixedWindows(2 * MINUTE), Sessions(MINUTE)]))
            ), False
        case _:
            return evolve(settings, accumulation=draw(st.sampled_from(list(Accumulation)))), False


@st.composite
def _changed_version(draw: st.DrawFn, before: Version, version: Version, kinds: Sequence[str]) -> Version:
    """Returns a version with one more change."""
    fields = list(version.fields)
    others = [at for at, field in enumerate(fields) if field.name != NUMBER.name]
    number = draw(st.sampled_from(others)) if others else None
    of_kind = {f"f{at}": kind for at, kind in enumerate(kinds)}
    way = draw(
        st.sampled_from(
            ["widen", "widen", "widen", "add", "add", "bare", "remove", "rename", "swap", "class", "evolves"]
        )
    )
    match way:
        case "widen" if number is not None and fields[number].name in of_kind:
            kind, value = draw(st.sampled_from(TYPES[of_kind[fields[number].name]]))
            changed = [number]
            if is_enum(fields[number].type):  # a version has one enum of this name
                changed = [at for at, field in enumerate(fields) if is_enum(field.type)]
            for at in changed:
                fields[at] = evolve(fields[at], type=kind, value=value)
        case "add":
            name, (kind, default) = f"g{len(fields)}", draw(st.sampled_from(_DEFAULTS))
            fields.append(Field(name, kind, lambda n: default, default))
        case "bare":
            fields.append(Field(f"h{len(fields)}", int, lambda n: 7))
        case "remove" if number is not None:
            del fields[number]
        case "rename" if number is not None:
            earlier = draw(st.sampled_from([fields[number].name, fields[number].name, None]))
            fields[number] = evolve(fields[number], name=f"{fields[number].name}x", earlier=earlier)
        case "swap" if number is not None:
            fields[0], fields[number] = fields[number], fields[0]
        case "class":
            earlier = draw(st.sampled_from([before.name, before.name, None]))
            return evolve(version, name="Thing", renamed_from=earlier)
        case "evolves":
            return evolve(version, converts=before.fields)
        case _:
            return version
    return evolve(version, fields=tuple(fields))


_DEFAULTS: Final[tuple[tuple[Any, Any], ...]] = (
    (int, 3),
    (str | None, None),
    (float, 1.5),
    (tuple[int, str], (1, "y")),
    (Inner | None, None),
    (Inner, Inner(1, "z")),
    (list[int], []),
)

BATCHES: Final = (
    (Score("a", 1, minute(0)), Score("b", 2, minute(0.3)), Score("a", 6, minute(0.4))),
    (Score("a", 3, minute(1)), Score("a", 4, minute(0.2)), Score("b", 2, minute(0.1))),
    (Score("b", 5, minute(9)), Score("a", 7, minute(0.5))),
    (Score("a", 6, minute(0)), Score("c", 7, minute(8)), Score("c", 8, minute(9.2))),
)

Emitted = list[list[tuple[Any, ...]]]
"""What each micro-batch has emitted."""


def run(
    pipeline: PCollection[Any],
    shards: int,
    checkpoint: str | None = None,
    stop: int | None = None,
    batches_of: Sequence[Sequence[Score]] = BATCHES,
) -> Emitted:
    """Returns what a query emits in each micro-batch."""
    stream = {SCORES: stream_of(batches_of)}
    batches = streaming.batches(pipeline, stream, shards=shards, checkpoint=checkpoint)
    emitted: Emitted = []
    for batch in islice(batches, stop):
        panes = [(repr(p.element), p.window, p.change, p.timing, p.index) for p in batch.panes]
        emitted.append([*panes, *((repr(row.element),) for row in batch.elements)])
    batches.close()
    return emitted


def outcome(case: Changed) -> tuple[str, str]:
    """Returns whether a change has ``continued`` or was ``refused``, and what is silent about it, if anything is."""
    with tempfile.TemporaryDirectory() as folder:
        with case.before.version.installed() as item:
            pipeline = case.before.version.pipeline(item, case.place, case.before.settings)
            run(pipeline, case.shards, folder, case.stop + 1)
        with case.after.version.installed() as item:

            def build() -> PCollection[Any]:
                return case.after.version.pipeline(item, case.place, case.after.settings)

            refusal = _refusal(lambda: _accept(build(), folder, case.shards))
            if refusal is not None:
                start = _refusal(lambda: run(build(), case.shards, folder))
                return "refused", "" if start == refusal else f"the plan says {refusal}\nthe start {start}"
            fresh = run(build(), case.shards)
            continued = run(build(), case.shards, folder)
            if case.exact:
                wanted = fresh[case.stop :]
                return "continued", "" if continued == wanted else f"{continued}\ninstead of\n{wanted}"
            return "continued", "" if len(continued) == len(fresh) - case.stop else "it has not read all"


def _accept(pipeline: PCollection[Any], folder: str, shards: int) -> None:
    streaming.plan(pipeline, folder, shards=shards).require_accepted()


def _refusal(start: Callable[[], object]) -> str | None:
    """Returns the message with which a start is refused; any other error is one of this check."""
    try:
        start()
    except FlowalgError as error:
        return str(error)
    return None


def comparer() -> Comparer[Changed]:
    """Returns generated changes; the tally counts those that have continued, and those that were refused."""
    tally = Counter[str]()

    def difference(case: Changed) -> str:
        kind, silent = outcome(case)
        tally[kind] += 1
        return silent

    return Comparer(changes(), difference, tally=tally, as_text=True)
