"""The layout of a diagram, as values: tests check that nothing is lost, outside of the axes, or overlapping."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from reprlib import Repr
from typing import Final

from attrs import evolve, fields, frozen, has

from flowalg.data.kv import KV
from flowalg.data.metadata import Timing
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.runs.panes import Change, Pane
from flowalg.triggers.describe import count_of
from flowalg.windows.window import Window, covers
from flowalg_tools.pictures.boxes import Box, LabelPlacer, text_width
from flowalg_tools.pictures.elements import ANY, ElementStatus, RunElement
from flowalg_tools.pictures.planes import Path, Plane
from flowalg_tools.pictures.run_facts import KeyedPane, RunFacts
from flowalg_tools.pictures.thinning import Density, thin

MAX_KEYS: Final = 4
MAX_DOTS: Final = 3000
MAX_LATE_DOTS: Final = 1500
MAX_PANES: Final = 1000
MAX_VALUES: Final = 30
LABEL_SIZE: Final = 8.5
RADIUS: Final = 8.0
BAR: Final = 4.0
_SQUARE: Final = 4.0
_MAX_LABEL: Final = 26
_MAX_VALUE: Final = 3


@frozen
class Dot:
    """An element; ``value`` is the text in its circle, or empty for a plain dot."""

    x: float
    y: float
    status: ElementStatus
    value: str = ""

    @property
    def box(self) -> Box:
        """The square around it."""
        size = 2 * RADIUS if self.value else _SQUARE
        return Box.around(self.x, self.y, size, size)


@frozen
class Label:
    """The value of a pane and its position."""

    text: str
    box: Box


@frozen
class PaneBox:
    """A pane: its window horizontally; vertically from the pane that it replaces, or its first element, to its time.

    Its sides are drawn ``inset`` points inside the box, so that the sides of overlapping windows differ. Without a
    ``timing`` it is grey.
    """

    box: Box
    timing: Timing | None
    change: Change
    inset: float
    label: Label | None


@frozen
class Panel:
    """The diagram of one key, or of all keys together."""

    title: str
    plane: Plane
    dots: tuple[Dot, ...]
    density: Density | None
    panes: tuple[PaneBox, ...]
    watermark: Path
    ideal: Path


@frozen
class Omitted:
    """The numbers of panes, elements of the panels' keys, and keys that are not drawn."""

    panes: int
    elements: int
    keys: int


@frozen
class Layout:
    """A picture: its panels, and the text above them."""

    heading: str
    panels: tuple[Panel, ...]
    omitted: Omitted
    notes: tuple[str, ...]


def layout_of(facts: RunFacts, keys: Sequence[object]) -> Layout:
    """Returns the layout of a picture of at least one key of a run."""
    size = (620.0, 430.0) if len(keys) == 1 else (400.0, 280.0)
    # If the keys of elements are not those of panes, an element may have any key.
    element_keys = {key: key if facts.keys_known else ANY for key in keys}
    elements = {
        key: tuple(element for element in facts.elements if element.may_have(element_keys[key]))
        for key in keys
    }
    panes = {key: tuple(keyed for keyed in facts.panes if keyed.key == key) for key in keys}
    shown = evolve(facts, elements=sum(elements.values(), ()), panes=sum(panes.values(), ()))
    drawing = _Drawing(facts, Plane.of(shown, *size), len(keys))
    panels = tuple(drawing.panel(key, elements[key], panes[key]) for key in keys)
    drawn_panes = sum(len(panel.panes) for panel in panels)
    drawn = sum(len(panel.dots) + (0 if panel.density is None else panel.density.total) for panel in panels)
    missing = sum(map(len, elements.values())) - drawn
    all_keys = len(facts.keys())
    omitted = Omitted(len(facts.panes) - drawn_panes, missing, all_keys - len(keys))
    notes = [
        *_pane_notes(sum(map(len, panes.values())), drawn_panes),
        *_element_notes(facts, panels, missing),
    ]
    if all_keys > len(keys):
        which = ", those with the most elements" if len(keys) > 1 and facts.keys_known else ""
        notes.insert(0, f"{len(keys)} of {all_keys:,} keys are drawn{which}")
    if keys[0] is not ANY and all_keys > 1 and not facts.keys_known and facts.elements:
        notes.append("the elements are those of all keys")
    return Layout(facts.heading, panels, omitted, tuple(notes))


@frozen
class _Drawing:
    """The common properties of a picture's panels."""

    facts: RunFacts
    plane: Plane
    panels: int

    def panel(self, key: object, elements: Sequence[RunElement], panes: Sequence[KeyedPane]) -> Panel:
        """Returns the diagram of one key, with its elements and panes."""
        plane = self.plane
        inside = [
            element
            for element in elements
            if element.event_time in plane.events and element.processing_time in plane.clock
        ]
        dots, density = self._dots(inside)
        placer = LabelPlacer()
        for dot in dots:
            placer.add_dot(dot.box)
        title = "" if key is ANY else f"key {short(key)}"
        accepted = _accepted_times(elements, key if self.facts.keys_known else ANY)
        boxes = self._panes(panes, accepted, placer)
        watermark = plane.watermark(self.facts.readings)
        return Panel(title, plane, dots, density, boxes, watermark, plane.ideal())

    def _dots(self, inside: Sequence[RunElement]) -> tuple[tuple[Dot, ...], Density | None]:
        plane = self.plane
        with_values = _have_short_values(self.facts.elements)

        def dots(elements: Iterable[RunElement]) -> tuple[Dot, ...]:
            return tuple(
                Dot(
                    plane.x(element.event_time),
                    plane.y(element.processing_time),
                    element.status,
                    _value_of(element) if with_values else "",
                )
                for element in elements
            )

        on_time = [element for element in inside if element.status is ElementStatus.ON_TIME]
        others: tuple[Dot, ...] = ()
        for status in (ElementStatus.LATE, ElementStatus.DROPPED):
            with_status = [element for element in inside if element.status is status]
            others += dots(thin(with_status, MAX_LATE_DOTS // self.panels))
        if len(on_time) <= MAX_DOTS // self.panels:
            return dots(on_time) + others, None
        points = ((plane.x(element.event_time), plane.y(element.processing_time)) for element in on_time)
        return others, Density.of(points, plane.width, plane.height, _SQUARE)

    def _panes(
        self, panes: Sequence[KeyedPane], accepted: Sequence[tuple[int, int]], placer: LabelPlacer
    ) -> tuple[PaneBox, ...]:
        placed = [
            (pane, self._box(pane, start))
            for pane, start in _starts(panes, accepted, self.facts.merges)
            if self.plane.shows(pane.window)
        ]
        chosen = _busiest([pane for pane, _ in placed], MAX_PANES // self.panels)
        placed = [item for number, item in enumerate(placed) if number in chosen]
        insets = _insets([pane.window for pane, _ in placed])
        # The widest boxes get their labels first, since they have room for them; values precede retractions.
        order = sorted(range(len(placed)), key=lambda i: _label_order(*placed[i]))
        labels = {i: _label(*placed[i], placer) for i in order}
        return tuple(
            PaneBox(box, pane.timing, pane.change, insets[pane.window], labels[i])
            for i, (pane, box) in enumerate(placed)
        )

    def _box(self, pane: Pane[object], start: int) -> Box:
        left, right = self.plane.sides(pane.window)
        if right - left < 1:
            right = min(left + 1, self.plane.width)
            left = right - 1
        top = max(self.plane.y(pane.processing_time), BAR)
        if pane.change is Change.RETRACTION:
            return Box(left, top - BAR, right, top)
        return Box(left, min(self.plane.y(start), top - BAR), right, top)


def _have_short_values(elements: Sequence[RunElement]) -> bool:
    """Returns whether there are few elements with short values, so that all values can be shown."""
    return len(elements) <= MAX_VALUES and all(len(_value_of(element)) <= _MAX_VALUE for element in elements)


def _value_of(element: RunElement) -> str:
    """Returns the value of an element as text; empty if it has several forms or none."""
    return short(element.grouped_as[0].value) if len(element.grouped_as) == 1 else ""


def _accepted_times(elements: Iterable[RunElement], key: object) -> list[tuple[int, int]]:
    """Returns the event and processing times of the elements that were not dropped, by event time."""
    return sorted(
        (grouped.event_time, element.processing_time)
        for element in elements
        if element.status is not ElementStatus.DROPPED
        for grouped in element.grouped_as
        if key is ANY or grouped.key is ANY or grouped.key == key
    )


def _starts(
    panes: Sequence[KeyedPane], accepted: Sequence[tuple[int, int]], merges: bool
) -> list[tuple[Pane[object], int]]:
    """Returns each pane with the processing time of the pane before it, or else of the first element of its window."""
    before: dict[Window, list[int]] = defaultdict(list)
    starts: list[tuple[Pane[object], int]] = []
    for keyed in panes:
        pane, time = keyed.pane, int(keyed.pane.processing_time)
        same = [pane.window] if pane.window in before else []
        if merges:
            same = [window for window in before if covers(pane.window, window)]
        times = [max(t for t in before[w] if t < time) for w in same if before[w][0] < time]
        if times:
            start = max(times)
        else:
            inside = accepted[
                bisect_left(accepted, (pane.window.start, 0)) : bisect_left(accepted, (pane.window.end, 0))
            ]
            start = min((observed for _, observed in inside if observed <= time), default=time)
        starts.append((pane, start))
        if pane.change is Change.VALUE:
            before[pane.window] = [*before[pane.window][-1:], time]
    return starts


def _busiest(panes: Sequence[Pane[object]], limit: int) -> set[int]:
    """Returns the numbers of at most ``limit`` panes: those of the windows with the most panes, thinned where these
    tie.
    """
    if len(panes) <= limit:
        return set(range(len(panes)))
    by_window: dict[Window, list[int]] = defaultdict(list)
    for number, pane in enumerate(panes):
        by_window[pane.window].append(number)
    by_size: dict[int, list[Window]] = defaultdict(list)
    for window, numbers in by_window.items():
        by_size[len(numbers)].append(window)
    chosen: set[int] = set()
    for size in sorted(by_size, reverse=True):
        room = (limit - len(chosen)) // size
        for window in thin(sorted(by_size[size]), room):
            chosen.update(by_window[window])
        if room < len(by_size[size]):
            break
    return chosen or set(range(limit))


def _insets(windows: Sequence[Window]) -> dict[Window, float]:
    """Returns the inset of each window: larger for windows that overlap earlier ones."""
    lanes: list[int] = []
    insets: dict[Window, float] = {}
    for window in sorted(set(windows), key=lambda window: (window.start, window.end)):
        lane = next((i for i, end in enumerate(lanes) if end <= window.start), len(lanes))
        lanes[lane : lane + 1] = [int(window.end)]
        insets[window] = 1.0 + 1.6 * (lane % 5)
    return insets


def _label_order(pane: Pane[object], box: Box) -> tuple[bool, float]:
    return pane.change is Change.RETRACTION, -min(box.height, 40.0) * min(box.width, 120.0)


def _label(pane: Pane[object], box: Box, placer: LabelPlacer) -> Label | None:
    """Returns the value of a pane, inside its box; ``None`` without room for it.

    The label of a retraction, and of a low first pane, is below its box, or above it at the bottom of the plane.
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
        position = placer.place(text_width(sign + text, LABEL_SIZE) * 1.06 + 6, height, inside)
        if position is not None:
            return Label(sign + text, position)
    return None


def _texts(value: object) -> Iterable[str]:
    """Short texts of a value: for a record with the names of its fields, then without."""
    kind = type(value)
    if not has(kind):
        yield short(value)
        return
    parts = [(field.name, short(getattr(value, field.name))) for field in fields(kind)]
    for text in (", ".join(f"{name}={part}" for name, part in parts), ", ".join(part for _, part in parts)):
        if len(text) <= _MAX_LABEL:
            yield text


def short(value: object) -> str:
    """Returns a value as a short text of printable characters."""
    text = f"{value:.6g}" if isinstance(value, float) else _SHORT.repr(value)
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…"


_SHORT: Final = Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxfrozenset = 4
_SHORT.maxstring = _SHORT.maxother = 60


def _pane_notes(count: int, drawn: int) -> Iterable[str]:
    if drawn < count:
        yield f"{drawn:,} of {count:,} panes are drawn, those of the windows with the most panes"


def _element_notes(facts: RunFacts, panels: Sequence[Panel], missing: int) -> Iterable[str]:
    densities = [panel.density for panel in panels if panel.density is not None]
    if densities:
        greatest = max(density.greatest for density in densities)
        total = sum(density.total for density in densities)
        yield f"{total:,} elements are drawn as a density, darkest for {greatest:,} elements"
    if missing:
        yield f"{missing:,} late, dropped or distant elements are not drawn"
    if facts.ungrouped:
        yield f"{count_of(facts.ungrouped, 'element')} that did not reach a grouping are not drawn"
    ended = [reading.processing_time for reading in facts.readings if reading.input >= MAX_TIME]
    if ended and panels and min(ended) > panels[0].plane.clock.last:
        yield "the input ended after the time shown"
    finite = [reading for reading in facts.readings if MIN_TIME < reading.input < MAX_TIME]
    if panels and not ended and finite and finite[-1].input < panels[0].plane.events.first:
        yield "the watermark is behind the time shown"
