"""Pictures of runs: any run can be drawn, and nothing is lost, hidden, or outside of the axes."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import flowalg_reference as reference
import pytest
from attrs import evolve, frozen
from flowalg_reference import ReferenceRun, RunSpec, WatermarkReading
from flowalg_tools.pictures import draw_progress, draw_run, run_svg
from flowalg_tools.pictures.elements import ElementStatus
from flowalg_tools.pictures.layout import BAR, MAX_KEYS, MAX_PANES, Layout, layout_of
from flowalg_tools.pictures.run_facts import run_facts
from flowalg_tools.pictures.scales import DAY, MINUTE, Range, choose_ticks, core_range
from flowalg_tools.pictures.state_over_time import count_by_replay, count_live_windows
from flowalg_tools.pictures.thinning import Density, thin
from flowalg_tools.pictures.time_series import MAX_POINTS, time_series_of
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtPeriod,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Mode,
    PCollection,
    Repeat,
    Run,
    Sessions,
    SlidingWindows,
    Sum,
    Timeline,
    event_time,
    processing_time,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError
from flowalg.runs import Change, Timing
from flowalg.windows import CalendarMonths, WindowFn
from tests.support.generated_runs import runs, sums
from tests.support.programs import run_program
from tests.support.scores import POINTS, SCORES, Score, minute

TWO = timedelta(minutes=2)


def default_layout(run: Run[object]) -> Layout:
    """Returns the layout that ``draw_run`` draws by default."""
    facts = run_facts(run)
    return layout_of(facts, facts.keys()[:MAX_KEYS])


def story() -> Timeline[Score]:
    """Returns a timeline of two teams: with elements on time, a late element, and a dropped element."""
    return (
        Timeline[Score]()
        .at(minute(1), Score("a", 5, minute(0.5)), Score("b", 1, minute(1)), watermark=minute(0))
        .at(minute(2.5), Score("a", 3, minute(1.5)), Score("a", 1, minute(2.5)), watermark=minute(1))
        .at(minute(3.5), watermark=minute(2.5))
        .at(minute(4), Score("a", 2, minute(1)))
        .at(minute(6), Score("b", 9, minute(5)), watermark=minute(8))
        .at(minute(7), Score("a", 7, minute(0)))
        .end(minute(9))
    )


def run_story(
    windows: WindowFn, accumulation: Accumulation = Accumulation.ACCUMULATING
) -> ReferenceRun[object]:
    """Runs sums per team over the story: early each minute, on time, and at each late element."""
    trigger = AtWatermark().with_early_firings(AtPeriod(timedelta(minutes=1))).with_late_firings(AtCount(1))
    pipeline: PCollection[object] = POINTS.window(
        windows, trigger=trigger, accumulation=accumulation, allowed_lateness=TWO
    ).combine_per_key(Sum())
    return reference.run(pipeline, {SCORES: story()})


@pytest.mark.long
@given(runs())
def test_any_run_has_pictures(run: ReferenceRun[object]) -> None:
    """A run of any pipeline over any timelines has pictures that are well-formed SVG."""
    assert ET.fromstring(run_svg(run)).tag.endswith("svg")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "progress.svg"
        draw_progress(run, path)
        assert ET.fromstring(path.read_text()).tag.endswith("svg")


@given(runs())
def test_every_pane_and_element_is_in_the_layout_or_counted_as_omitted(run: ReferenceRun[object]) -> None:
    """In short runs, only panes and elements of keys that are not drawn, or outside of the axes, are omitted."""
    layout, facts = default_layout(run), run_facts(run)
    keys, plane = facts.keys()[:MAX_KEYS], layout.panels[0].plane
    panes = [pane for panel in layout.panels for pane in panel.panes]
    expected = [keyed.pane for keyed in facts.panes if keyed.key in keys and plane.shows(keyed.pane.window)]
    assert Counter((pane.timing, pane.change) for pane in panes) == Counter(
        (pane.timing, pane.change) for pane in expected
    )
    assert layout.omitted.panes == len(run.panes) - len(expected)
    assert layout.omitted.keys == len(facts.keys()) - len(layout.panels)
    if len(layout.panels) == 1 and not layout.omitted.keys:
        inside = [element for element in facts.elements if element.event_time in plane.events]
        assert len(layout.panels[0].dots) == len(inside)
        assert layout.omitted.elements == len(facts.elements) - len(inside)


@given(runs())
def test_nothing_is_outside_of_the_axes(run: ReferenceRun[object]) -> None:
    """Dots, panes, labels, the watermark and the line of zero delay are inside of the axes."""
    for panel in default_layout(run).panels:
        frame = panel.plane.box.expanded(1e-6)
        points = [(dot.x, dot.y) for dot in panel.dots] + [*panel.watermark, *panel.ideal]
        boxes = [pane.box for pane in panel.panes]
        boxes += [pane.label.box for pane in panel.panes if pane.label is not None]
        points += [corner for box in boxes for corner in ((box.left, box.bottom), (box.right, box.top))]
        assert all(frame.left <= x <= frame.right and frame.bottom <= y <= frame.top for x, y in points)
        assert all(box.width > 0 and box.height > 0 for box in boxes)


@given(runs())
def test_labels_do_not_overlap(run: ReferenceRun[object]) -> None:
    """No two labels of a panel intersect."""
    for panel in default_layout(run).panels:
        labels = [pane.label.box for pane in panel.panes if pane.label is not None]
        assert not any(left.intersects(right) for left, right in combinations(labels, 2))


@given(runs())
def test_the_watermark_line_never_goes_back(run: ReferenceRun[object]) -> None:
    """Each point of the line is to the right of the previous point and above it."""
    for panel in default_layout(run).panels:
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(panel.watermark))


@given(sums())
def test_dropped_elements_are_those_of_the_run(run: ReferenceRun[object]) -> None:
    """The dropped elements of a picture have the event and processing times of the run's drops."""
    facts = run_facts(run)
    dropped = {
        (element.processing_time, element.event_time)
        for element in facts.elements
        if element.status is ElementStatus.DROPPED
    }
    assert dropped == {(drop.processing_time, drop.event_time) for drop in run.dropped}


@given(sums())
def test_an_element_is_late_if_it_is_to_the_left_of_the_watermark(run: ReferenceRun[object]) -> None:
    """An element is late if the watermark before its instant had passed its event time."""
    for element in run_facts(run).elements:
        before = [r.input for r in run.watermarks if r.processing_time < element.processing_time]
        upto = [r.input for r in run.watermarks if r.processing_time <= element.processing_time]
        if element.status is ElementStatus.ON_TIME:
            assert element.event_time >= max(before, default=MIN_TIME)
        if element.status is ElementStatus.LATE:
            assert element.event_time < max(upto)


@given(sums())
def test_live_windows_are_those_of_the_interpreter(run: ReferenceRun[object]) -> None:
    """The numbers that are computed from the elements equal those of a replay."""
    assert count_live_windows(run, run_facts(run).elements) == count_by_replay(run.spec)


def test_windows_are_live_until_their_lateness_has_passed() -> None:
    """The story has up to three live windows, and none when the watermark is two minutes beyond all of them."""
    run = run_story(FixedWindows(TWO))
    live = count_live_windows(run, run_facts(run).elements)
    assert [live[processing_time(minute(at))] for at in (1, 2.5, 4, 6, 9)] == [2, 3, 3, 0, 0]


def test_the_statuses_of_the_story() -> None:
    """Five elements are on time, one is late and accepted, and one is dropped."""
    statuses = Counter(element.status for element in run_facts(run_story(FixedWindows(TWO))).elements)
    assert statuses == {ElementStatus.ON_TIME: 5, ElementStatus.LATE: 1, ElementStatus.DROPPED: 1}


def test_an_element_at_the_watermark_is_not_late() -> None:
    """The watermark before the instant counts: an element at that watermark, or only behind the next, is on time."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)), watermark=minute(1))
        .at(minute(2), Score("a", 1, minute(1)), Score("a", 1, minute(0.9)))
    )
    run = reference.run(POINTS.window(FixedWindows(TWO)).combine_per_key(Sum()), {SCORES: timeline})
    assert [element.status for element in run_facts(run).elements] == [
        ElementStatus.ON_TIME,
        ElementStatus.ON_TIME,
        ElementStatus.LATE,
    ]


def test_a_pane_extends_from_the_previous_pane_or_the_first_element() -> None:
    """The first window of team a has an element at 12:01, and panes at 12:01, 12:03 and, late, at 12:04."""
    (panel,) = layout_of(run_facts(run_story(FixedWindows(TWO))), ["a"]).panels
    first = panel.plane.x(event_time(minute(0)))
    edges = [(pane.box.bottom, pane.box.top) for pane in panel.panes if pane.box.left == pytest.approx(first)]
    at_1, at_3, at_4 = (panel.plane.y(processing_time(minute(at))) for at in (1, 3, 4))
    assert [edge for pair in edges for edge in pair] == pytest.approx(
        [at_1 - BAR, at_1, at_1, at_3, at_3, at_4]
    )
    b = layout_of(run_facts(run_story(FixedWindows(timedelta(hours=1)))), ["b"]).panels[0]
    assert [pane.label.text for pane in b.panes if pane.label] == ["1", "10"]


def test_a_merged_session_extends_from_the_panes_of_its_members() -> None:
    """The pane of a merged session extends from that of the shorter session, and not from the first element."""
    timeline = (
        Timeline[Score]()
        .at(minute(1.2), Score("a", 1, minute(1)), watermark=minute(0))
        .at(minute(2.5), Score("a", 1, minute(1.5)))
        .at(minute(3.5))
    )
    pipeline: PCollection[object] = POINTS.window(
        Sessions(TWO),
        trigger=Repeat(AtPeriod(timedelta(minutes=1))),
        accumulation=Accumulation.ACCUMULATING,
    ).combine_per_key(Sum())
    (panel,) = default_layout(reference.run(pipeline, {SCORES: timeline})).panels
    member, merged = panel.panes
    assert merged.box.bottom == pytest.approx(member.box.top)
    assert merged.box.right > member.box.right


def test_retractions_are_bars_at_the_top_of_a_merged_session() -> None:
    """Each bar is at the top of the pane that replaces the retracted panes, and has a label with a minus sign."""
    run = run_story(Sessions(timedelta(minutes=1)), Accumulation.RETRACTING)
    (panel,) = layout_of(run_facts(run), ["a"]).panels
    bars = [pane for pane in panel.panes if pane.change is Change.RETRACTION]
    values = [pane for pane in panel.panes if pane.change is Change.VALUE]
    assert bars
    for bar in bars:
        assert any(
            pane.box.top == pytest.approx(bar.box.top) and pane.box.intersects(bar.box) for pane in values
        )
        assert any(pane.box.top < bar.box.top for pane in values)
    labels = {bar.label.text for bar in bars if bar.label is not None}
    assert any(text.startswith("\N{MINUS SIGN}") for text in labels)


@pytest.mark.parametrize(
    "windows",
    [
        FixedWindows(TWO),
        SlidingWindows(2 * TWO, timedelta(minutes=1)),
        Sessions(timedelta(minutes=1)),
        GlobalWindows(),
        CalendarMonths("Europe/Berlin"),
    ],
    ids=str,
)
def test_the_ends_of_time_do_not_widen_the_axes(windows: WindowFn) -> None:
    """The axes have at most a month of event time and some minutes of processing time, with an infinite watermark."""
    run = run_story(windows)
    for panel in default_layout(run).panels:
        assert panel.panes
        assert panel.plane.events.length < 34 * DAY
        assert panel.plane.clock.length < 10 * MINUTE


def test_a_distant_end_of_the_input_does_not_widen_the_axes() -> None:
    """A note states that the input ended later."""
    pipeline = POINTS.window(FixedWindows(TWO)).combine_per_key(Sum())
    run = reference.run(pipeline, {SCORES: story().without_end().end(minute(9_000))})
    layout = default_layout(run)
    assert layout.panels[0].plane.clock.length < 10 * MINUTE
    assert "the input ended after the time shown" in layout.notes


def test_a_clock_that_is_years_off_does_not_widen_the_axes() -> None:
    """The element of such a clock is omitted and counted."""
    records = [Score("a", 1, minute(i / 10)) for i in range(200)] + [Score("a", 1, minute(9_000_000))]
    timeline = Timeline[Score]().at(minute(30), *records, watermark=minute(0))
    run = reference.run(POINTS.window(FixedWindows(TWO)).combine_per_key(Sum()), {SCORES: timeline})
    layout = default_layout(run)
    assert layout.panels[0].plane.events.length < 40 * MINUTE
    assert layout.omitted.elements == 1
    assert "1 late, dropped or distant elements are not drawn" in layout.notes


def long_run(instants: int, in_each: int) -> ReferenceRun[object]:
    """Returns a long run without panes, which was never executed; every tenth element is late."""
    timeline = Timeline(
        tuple(
            instant
            for number in range(instants)
            for instant in Timeline[Score]().at(
                minute(number),
                *(Score("a", 1, minute(number - 9.5 * (i % 10 == 0) - i / in_each)) for i in range(in_each)),
                watermark=minute(number - 4),
            )
        )
    )
    readings = tuple(
        WatermarkReading(instant.processing_time, instant.watermark, instant.watermark)
        for instant in timeline
    )
    pipeline = POINTS.window(FixedWindows(TWO), allowed_lateness=TWO).combine_per_key(Sum())
    return ReferenceRun((), (), readings, RunSpec(pipeline, {"scores": timeline}, Mode.MICRO_BATCH))


@pytest.mark.long
def test_a_long_run_is_drawn_as_a_density() -> None:
    """The elements on time are a density, up to 1500 late elements are dots, and the SVG is below a megabyte."""
    run = long_run(1000, 20)
    (panel,) = default_layout(run).panels
    assert panel.density is not None
    assert panel.density.total == 18_002
    assert default_layout(run).omitted.elements == 1_998 - len(panel.dots)
    assert {dot.status for dot in panel.dots} == {ElementStatus.LATE}
    assert len(panel.dots) == 1500
    assert any("18,002 elements are drawn as a density" in note for note in default_layout(run).notes)
    assert len(run_svg(run)) < 1_000_000


def test_of_too_many_panes_those_of_the_busiest_windows_are_drawn() -> None:
    """A note states the number of panes."""
    run = run_story(FixedWindows(TWO))
    (pane, *_) = run.panes
    windows = FixedWindows(timedelta(minutes=1))
    panes = [
        evolve(pane, window=window, info=evolve(pane.info, index=index))
        for number in range(900)
        for window in windows.assign(event_time(minute(number)), "a")
        for index in range(3 if number % 3 == 0 else 1)
    ]
    layout = default_layout(Run(tuple(panes), ()))
    (panel,) = layout.panels
    assert len(panel.panes) + layout.omitted.panes == len(panes) == 1500
    assert MAX_PANES * 0.9 < len(panel.panes) <= MAX_PANES
    per_window = Counter(round(pane.box.left, 2) for pane in panel.panes)
    assert sum(count == 3 for count in per_window.values()) == 300
    assert any(note.startswith(f"{len(panel.panes):,} of 1,500 panes are drawn") for note in layout.notes)


@given(st.lists(st.integers(), max_size=200), st.integers(2, 50))
def test_thinning_keeps_the_first_and_the_last_item(items: list[int], most: int) -> None:
    """At most ``most`` items remain, in order, from the first to the last."""
    chosen = thin(list(enumerate(items)), most)
    assert len(chosen) == min(len(items), most)
    assert [number for number, _ in chosen] == sorted({number for number, _ in chosen})
    if items:
        assert (chosen[0][0], chosen[-1][0]) == (0, len(items) - 1)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50)), max_size=50))
def test_a_density_counts_every_point(points: list[tuple[float, float]]) -> None:
    """Each point is counted in a square of the grid."""
    density = Density.of(points, 100, 50, 7)
    assert density.total == len(points)
    assert all(0 <= column < density.columns and 0 <= row < density.rows for column, row, _ in density.counts)


@given(
    st.integers(MIN_TIME, MAX_TIME - 2), st.integers(0, 56).map(lambda power: 2**power), st.integers(3, 12)
)
def test_ticks_are_few_ordered_and_distinct(first: int, length: int, most: int) -> None:
    """The ticks of a range from a microsecond to thousands of years are in order, inside, and have distinct labels."""
    span = Range(first, min(first + length, MAX_TIME))
    ticks = choose_ticks(span, most)
    shares = [tick.fraction for tick in ticks.ticks]
    assert len(shares) <= most + 1
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    days = [tick.label.partition("\n")[2] for tick in ticks.ticks]
    for number, day in enumerate(days):
        days[number] = day or (days[number - 1] if number else "")
    labels = [
        f"{day} {tick.label.partition(chr(10))[0]}" for day, tick in zip(days, ticks.ticks, strict=True)
    ]
    assert len(set(labels)) == len(labels)


def test_ticks_have_a_date_where_it_changes() -> None:
    """If all ticks are on the same day, only the label of the axis has the date."""
    one_day = Range(processing_time(minute(0)), processing_time(minute(30)))
    assert choose_ticks(one_day, 4).axis_label("event time") == "event time (UTC), 1 January 2024"
    assert [tick.label for tick in choose_ticks(one_day, 4).ticks] == ["12:00", "12:10", "12:20", "12:30"]
    two_days = Range(processing_time(minute(0)), processing_time(minute(60 * 24)))
    assert [tick.label for tick in choose_ticks(two_days, 5).ticks] == [
        "12:00\n1 Jan 2024",
        "18:00",
        "00:00\n2 Jan 2024",
        "06:00",
        "12:00",
    ]


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=60),
    st.lists(st.integers(10**15, 10**16), max_size=1),
)
def test_a_range_omits_outliers(near: list[int], far: list[int]) -> None:
    """An outlier is omitted if there are at least twenty other points."""
    first, last = core_range([*near, *far])
    assert first == min(near)
    assert last == (max(near) if len(near) >= 20 else max([*near, *far]))


@given(runs())
def test_the_lag_is_the_processing_time_minus_the_watermark(run: ReferenceRun[object]) -> None:
    """The series has the lag at each instant with a finite watermark, and all panes are in the buckets."""
    series = time_series_of(run, run_facts(run))
    assert sum(bucket.total for bucket in series.buckets) == len(run.panes)
    if series.thinned:
        assert len(series.lag) <= MAX_POINTS + 2
        return
    for reading in run.watermarks:
        if MIN_TIME < reading.input < MAX_TIME:
            assert (reading.processing_time, reading.processing_time - reading.input) in series.lag


def test_buckets_count_panes_by_timing() -> None:
    """Retractions are counted separately from the values."""
    run = run_story(FixedWindows(TWO), Accumulation.RETRACTING)
    buckets = time_series_of(run, run_facts(run)).buckets
    for timing in Timing:
        expected = sum(pane.timing is timing and pane.change is Change.VALUE for pane in run.panes)
        assert sum(dict(bucket.values)[timing] for bucket in buckets) == expected
    assert (
        sum(bucket.retractions for bucket in buckets)
        == sum(pane.change is Change.RETRACTION for pane in run.panes)
        > 0
    )


def test_the_keys_with_most_elements_are_drawn() -> None:
    """By default four keys are drawn, and a note states their number; ``key`` selects a key."""
    scores = [Score(f"team {n}", 1, minute(n / 10)) for n in range(6) for _ in range(n + 1)]
    pipeline = POINTS.window(FixedWindows(TWO)).combine_per_key(Count())
    run = reference.run(pipeline, {SCORES: Timeline[Score]().at(minute(5), *scores).end(minute(6))})
    layout = default_layout(run)
    assert [panel.title for panel in layout.panels] == [f"key 'team {n}'" for n in (5, 4, 3, 2)]
    assert [len(panel.dots) for panel in layout.panels] == [6, 5, 4, 3]
    assert layout.notes[0] == "4 of 6 keys are drawn, those with the most elements"
    assert layout.omitted.keys == 2
    svg = run_svg(run, key="team 0")
    assert "team 0" in svg
    assert "team 5" not in svg
    with pytest.raises(
        ArgumentError, match="key must be a key of the run, such as 'team 5', .*; got 'nobody'"
    ):
        run_svg(run, key="nobody")


def test_a_pipeline_without_pairs_has_one_diagram() -> None:
    """The diagram has the elements and panes of all keys."""
    pipeline = SCORES.window(FixedWindows(TWO)).combine_globally(Count())
    run = reference.run(pipeline, {SCORES: story()})
    (panel,) = default_layout(run).panels
    assert panel.title == ""
    assert len(panel.dots) == 7
    assert len(panel.panes) == len(run.panes)


def test_filtered_elements_are_counted_but_not_drawn() -> None:
    """A note states the number of elements that did not reach a grouping."""
    pipeline = POINTS.filter(lambda pair: pair.value > 2).window(FixedWindows(TWO)).combine_per_key(Sum())
    layout = default_layout(reference.run(pipeline, {SCORES: story()}))
    assert sum(len(panel.dots) for panel in layout.panels) == 4
    assert "3 elements that did not reach a grouping are not drawn" in layout.notes


def test_an_element_is_drawn_at_its_event_time_in_the_source() -> None:
    """Its window depends on the event time that ``with_timestamps`` assigns later."""
    pipeline = (
        SCORES.with_timestamps(lambda s: s.at + timedelta(minutes=10))
        .key_by(lambda s: s.team)
        .window(FixedWindows(TWO))
        .combine_per_key(Count())
    )
    facts = run_facts(reference.run(pipeline, {SCORES: story()}))
    assert facts.elements[0].event_time == event_time(minute(0.5))
    assert facts.elements[0].grouped_as[0].event_time == event_time(minute(10.5))


def test_a_run_of_another_interpreter_is_drawn_without_elements() -> None:
    """The picture has the panes and the watermarks that they carry."""
    reference_run = run_story(FixedWindows(TWO))
    run = Run(reference_run.panes, reference_run.dropped)
    facts = run_facts(run)
    assert facts.elements == ()
    assert facts.panes == run_facts(reference_run).panes
    assert {(reading.processing_time, reading.input) for reading in facts.readings} == {
        (pane.processing_time, pane.watermark) for pane in run.panes
    }
    assert count_live_windows(run, facts.elements) == {}
    assert "unknown for a run" in svg_of_progress(run)
    assert run_svg(run)


@frozen
class AwkwardValue:
    """A value whose text has special characters."""

    text: str

    def __repr__(self) -> str:
        return self.text


@pytest.mark.parametrize("text", ["$x_1$", "<b>&\"'", "a\nb", "\x00\x1b", "$", "統計", "x" * 500, ""])
def test_any_value_can_be_a_label(text: str) -> None:
    """Formulas, tags and control characters are drawn as text, and the SVG is well-formed."""
    run = run_story(FixedWindows(TWO))
    panes = tuple(evolve(pane, element=KV(AwkwardValue(text), text)) for pane in run.panes)
    svg = run_svg(evolve(run, panes=panes), title=text.replace("\x00\x1b", ""))
    written = "".join(ET.fromstring(svg).itertext())
    if text == "$x_1$":
        assert written.count(text) > 2


def svg_of_progress(run: Run[object]) -> str:
    """Returns the SVG of ``draw_progress``."""
    with TemporaryDirectory() as folder:
        draw_progress(run, f"{folder}/progress.svg")
        return Path(folder, "progress.svg").read_text()


@pytest.mark.parametrize("draw", [draw_run, draw_progress])
@pytest.mark.parametrize("suffix", [".svg", ".png", ".SVG"])
def test_equal_pictures_are_equal_files(
    draw: Callable[[ReferenceRun[object], Path], None], suffix: str, tmp_path: Path
) -> None:
    """The files are equal byte by byte, and their format is that of the suffix."""
    run = run_story(SlidingWindows(2 * TWO, timedelta(minutes=1)), Accumulation.RETRACTING)
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    draw(run, first)
    draw(run, second)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_invalid_paths_and_runs_are_rejected(tmp_path: Path) -> None:
    """Each error names the argument and what is valid."""
    run = run_story(FixedWindows(TWO))
    for bad in (tmp_path / "run.pdf", "run", 7):
        with pytest.raises(ArgumentError, match="path must be a path that ends in .svg or .png; got .*"):
            draw_run(run, bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(ArgumentError, match="path must be a path that ends in .svg or .png; got .*"):
            draw_progress(run, bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="run must be a Run, as an interpreter's"):
        draw_run(run.panes, tmp_path / "run.svg")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_without_matplotlib_the_error_names_the_extra() -> None:
    """The import of ``flowalg_tools.pictures`` raises the error."""
    code = "import sys; sys.modules['matplotlib'] = None\nimport flowalg_tools.pictures"
    finished = run_program([sys.executable, "-c", code])
    assert "MissingExtraError: pictures need matplotlib" in finished.stderr
    assert "pip install 'flowalg[plot]'" in finished.stderr
