"""Where everything of the diagram goes, as values: tests see that nothing is lost, outside, or on another."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from reprlib import Repr
from typing import Final

from attrs import evolve, fields, frozen, has

from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.runs.panes import Change, Pane, Timing
from flowalg.triggers.describe import count_of
from flowalg.windows.window import Window, covers
from flowalg_tools.pictures.boxes import Box, Occupied, text_width
from flowalg_tools.pictures.elements import ANY, Fate, Observation
from flowalg_tools.pictures.planes import Path, Plane
from flowalg_tools.pictures.run_facts import Facts, Keyed
from flowalg_tools.pictures.thinning import Density, spread

MOST_KEYS: Final = 4
MOST_DOTS: Final = 3000
MOST_EXCEPTIONS: Final = 1500
MOST_PANES: Final = 1000
LABEL_SIZE: Final = 8.5
BAR: Final = 4.0
_SQUARE: Final = 4.0
_LONGEST: Final = 26


@frozen
class Dot:
    """An element."""

    x: float
    y: float
    fate: Fate


@frozen
class Label:
    """What a pane says, and where."""

    text: str
    box: Box


@frozen
class Sheet:
    """A pane: its window across; up, from the pane that it takes the place of, or its first element, to its own time.

    ``inset`` is by how much its sides are drawn within the box, so that those of overlapping windows lie apart.
    """

    box: Box
    timing: Timing
    change: Change
    inset: float
    label: Label | None


@frozen
class Panel:
    """The diagram of one key, or of all in one."""

    title: str
    plane: Plane
    dots: tuple[Dot, ...]
    density: Density | None
    sheets: tuple[Sheet, ...]
    watermark: Path
    ideal: Path


@frozen
class LeftOut:
    """How many are not drawn: of the panes, the elements that have a place in a panel, and the keys."""

    panes: int
    elements: int
    keys: int


@frozen
class Layout:
    """A picture: its panels, and what is written above them."""

    heading: str
    panels: tuple[Panel, ...]
    left_out: LeftOut
    notes: tuple[str, ...]


def layout_of(facts: Facts, keys: Sequence[object]) -> Layout:
    """Everything in its place, for some keys of a run, of which there is at least one."""
    size = (620.0, 430.0) if len(keys) == 1 else (400.0, 280.0)
    # Where the keys of elements are not those of panes, any element may be one of any key.
    of = {key: key if facts.tells_keys else ANY for key in keys}
    mine = {key: tuple(one for one in facts.observations if one.is_of(of[key])) for key in keys}
    panes = {key: tuple(one for one in facts.panes if one.key == key) for key in keys}
    plane = Plane.of(
        evolve(
            facts,
            observations=tuple(one for those in mine.values() for one in those),
            panes=tuple(one for those in panes.values() for one in those),
        ),
        *size,
    )
    drawing = _Drawing(facts, plane, len(keys))
    panels = tuple(drawing.panel(key, mine[key], panes[key]) for key in keys)
    sheets = sum(len(one.sheets) for one in panels)
    drawn = sum(len(one.dots) + (0 if one.density is None else one.density.total) for one in panels)
    wanted = sum(map(len, mine.values()))
    known = len(facts.keys())
    left_out = LeftOut(len(facts.panes) - sheets, wanted - drawn, known - len(keys))
    notes = [*_of_panes(sum(map(len, panes.values())), sheets), *_of_elements(facts, panels, wanted - drawn)]
    if known > len(keys):
        which = ", those with most elements" if len(keys) > 1 and facts.tells_keys else ""
        notes.insert(0, f"{len(keys)} of {known:,} keys drawn{which}")
    if keys[0] is not ANY and known > 1 and not facts.tells_keys and facts.observations:
        notes.append("elements are those of all keys")
    return Layout(facts.heading, panels, left_out, tuple(notes))


@frozen
class _Drawing:
    """What the panels of a picture have in common."""

    facts: Facts
    plane: Plane
    panels: int

    def panel(self, key: object, mine: Sequence[Observation], panes: Sequence[Keyed]) -> Panel:
        """The diagram of one key, with its elements and panes."""
        plane = self.plane
        inside = [
            one for one in mine if one.event_time in plane.events and one.processing_time in plane.clock
        ]
        dots, density = self._elements(inside)
        occupied = Occupied()
        for dot in dots:
            occupied.add_dot(dot.x, dot.y)
        title = "" if key is ANY else f"key {short(key)}"
        sheets = self._sheets(panes, _firsts(mine, key if self.facts.tells_keys else ANY), occupied)
        watermark = plane.watermark(self.facts.readings)
        return Panel(title, plane, dots, density, sheets, watermark, plane.ideal())

    def _elements(self, inside: Sequence[Observation]) -> tuple[tuple[Dot, ...], Density | None]:
        plane = self.plane

        def dots(chosen: Iterable[Observation]) -> tuple[Dot, ...]:
            return tuple(
                Dot(plane.x(one.event_time), plane.y(one.processing_time), one.fate) for one in chosen
            )

        usual = [one for one in inside if one.fate is Fate.ON_TIME]
        rest: tuple[Dot, ...] = ()
        for fate in (Fate.LATE, Fate.DROPPED):
            those = [one for one in inside if one.fate is fate]
            rest += dots(spread(those, MOST_EXCEPTIONS // self.panels))
        if len(usual) <= MOST_DOTS // self.panels:
            return dots(usual) + rest, None
        points = ((plane.x(one.event_time), plane.y(one.processing_time)) for one in usual)
        return rest, Density.of(points, plane.width, plane.height, _SQUARE)

    def _sheets(
        self, panes: Sequence[Keyed], firsts: Sequence[tuple[int, int]], occupied: Occupied
    ) -> tuple[Sheet, ...]:
        plane = self.plane
        placed = [
            (pane, self._box(pane, since))
            for pane, since in _since(panes, firsts, self.facts.merges)
            if plane.shows(pane.window)
        ]
        chosen = _busiest([pane for pane, _ in placed], MOST_PANES // self.panels)
        placed = [one for number, one in enumerate(placed) if number in chosen]
        insets = _insets([pane.window for pane, _ in placed])
        # Labels of the widest first, which have room for theirs; values before what is taken back.
        order = sorted(range(len(placed)), key=lambda i: _roominess(*placed[i]))
        labels = {i: _label(*placed[i], occupied) for i in order}
        return tuple(
            Sheet(box, pane.timing, pane.change, insets[pane.window], labels[i])
            for i, (pane, box) in enumerate(placed)
        )

    def _box(self, pane: Pane[object], since: int) -> Box:
        left, right = self.plane.sides(pane.window)
        if right - left < 1:
            right = min(left + 1, self.plane.width)
            left = right - 1
        top = max(self.plane.y(pane.processing_time), BAR)
        if pane.change is Change.RETRACTION:
            return Box(left, top - BAR, right, top)
        return Box(left, min(self.plane.y(since), top - BAR), right, top)


def _firsts(mine: Iterable[Observation], key: object) -> list[tuple[int, int]]:
    """The elements that were taken, as groupings know them: event time and when they were seen, by event time."""
    return sorted(
        (heard.event_time, one.processing_time)
        for one in mine
        if one.fate is not Fate.DROPPED
        for heard in one.heard
        if key is ANY or heard.key is ANY or heard.key == key
    )


def _since(
    panes: Sequence[Keyed], firsts: Sequence[tuple[int, int]], merges: bool
) -> list[tuple[Pane[object], int]]:
    """Each pane, with the processing time of the one before it, or else of the first element of its window."""
    before: dict[Window, list[int]] = defaultdict(list)
    found: list[tuple[Pane[object], int]] = []
    for one in panes:
        pane, time = one.pane, int(one.pane.processing_time)
        same = [pane.window] if pane.window in before else []
        if merges:
            same = [window for window in before if covers(pane.window, window)]
        times = [max(t for t in before[w] if t < time) for w in same if before[w][0] < time]
        if times:
            since = max(times)
        else:
            inside = firsts[
                bisect_left(firsts, (pane.window.start, 0)) : bisect_left(firsts, (pane.window.end, 0))
            ]
            since = min((seen for _, seen in inside if seen <= time), default=time)
        found.append((pane, since))
        if pane.change is Change.VALUE:
            before[pane.window] = [*before[pane.window][-1:], time]
    return found


def _busiest(panes: Sequence[Pane[object]], most: int) -> set[int]:
    """The numbers of at most so many panes: all of the windows that have most of them, spread over those alike."""
    if len(panes) <= most:
        return set(range(len(panes)))
    of_window: dict[Window, list[int]] = defaultdict(list)
    for number, pane in enumerate(panes):
        of_window[pane.window].append(number)
    by_size: dict[int, list[Window]] = defaultdict(list)
    for window, numbers in of_window.items():
        by_size[len(numbers)].append(window)
    chosen: set[int] = set()
    for size in sorted(by_size, reverse=True):
        room = (most - len(chosen)) // size
        for window in spread(sorted(by_size[size]), room):
            chosen.update(of_window[window])
        if room < len(by_size[size]):
            break
    return chosen or set(range(most))


def _insets(windows: Sequence[Window]) -> dict[Window, float]:
    """By how much the sides of each window are drawn within it: more for those that overlap others."""
    lanes: list[int] = []
    insets: dict[Window, float] = {}
    for window in sorted(set(windows), key=lambda one: (one.start, one.end)):
        lane = next((i for i, end in enumerate(lanes) if end <= window.start), len(lanes))
        lanes[lane : lane + 1] = [int(window.end)]
        insets[window] = 1.0 + 1.6 * (lane % 5)
    return insets


def _roominess(pane: Pane[object], box: Box) -> tuple[bool, float]:
    return pane.change is Change.RETRACTION, -min(box.height, 40.0) * min(box.width, 120.0)


def _label(pane: Pane[object], box: Box, occupied: Occupied) -> Label | None:
    """What a pane says, inside its box; ``None`` where there is no room.

    What is taken back is beneath its bar, or above where that is the bottom; so is a first pane that is as low.
    """
    height = LABEL_SIZE + 3
    inside = box
    if box.height < height and (pane.index == 0 or pane.change is Change.RETRACTION):
        room = 16.0 if box.bottom < 16.0 else -16.0
        edge = box.top if room > 0 else box.bottom
        inside = Box(box.left, min(edge, edge + room), box.right, max(edge, edge + room))
    if inside.height < height or inside.width < 12:
        return None
    sign = "\N{MINUS SIGN}" if pane.change is Change.RETRACTION else ""
    value = pane.element.value if isinstance(pane.element, KV) else pane.element
    for text in _texts(value):
        spot = occupied.place(text_width(sign + text, LABEL_SIZE) * 1.06 + 6, height, inside)
        if spot is not None:
            return Label(sign + text, spot)
    return None


def _texts(value: object) -> Iterable[str]:
    """A value in a few characters; that of a record with the names of its fields, or else without."""
    kind = type(value)
    if not has(kind):
        yield short(value)
        return
    parts = [(one.name, short(getattr(value, one.name))) for one in fields(kind)]
    for text in (", ".join(f"{name}={part}" for name, part in parts), ", ".join(part for _, part in parts)):
        if len(text) <= _LONGEST:
            yield text


def short(value: object) -> str:
    """A value in a few characters, all of which can be printed."""
    text = f"{value:.6g}" if isinstance(value, float) else _SHORT.repr(value)
    text = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_SHORT: Final = Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxfrozenset = 4
_SHORT.maxstring = _SHORT.maxother = 60


def _of_panes(of_keys: int, drawn: int) -> Iterable[str]:
    if drawn < of_keys:
        yield f"{drawn:,} of {of_keys:,} panes are drawn, those of the windows that have most"


def _of_elements(facts: Facts, panels: Sequence[Panel], left_out: int) -> Iterable[str]:
    dense = [one.density for one in panels if one.density is not None]
    if dense:
        most = max(one.most for one in dense)
        total = sum(one.total for one in dense)
        yield f"{total:,} elements are drawn as a density, darkest where there are {most:,}"
    if left_out:
        yield f"{left_out:,} late, dropped or far elements are not drawn"
    if facts.unheard:
        yield f"{count_of(facts.unheard, 'element')} that came to no grouping left out"
    ended = [one.processing_time for one in facts.readings if one.input >= MAX_TIME]
    if ended and panels and min(ended) > panels[0].plane.clock.last:
        yield "the input ended after what is shown"
    known = [one for one in facts.readings if MIN_TIME < one.input < MAX_TIME]
    if panels and not ended and known and known[-1].input < panels[0].plane.events.first:
        yield "the watermark is behind all that is shown"


__all__ = [
    "BAR",
    "LABEL_SIZE",
    "MOST_DOTS",
    "MOST_EXCEPTIONS",
    "MOST_KEYS",
    "MOST_PANES",
    "Dot",
    "Label",
    "Layout",
    "LeftOut",
    "Panel",
    "Sheet",
    "layout_of",
    "short",
]
