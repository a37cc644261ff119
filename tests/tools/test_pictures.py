"""Pictures of runs: that nothing is lost on the way to the page, hidden on it, or off it; and that any run has one."""

from __future__ import annotations

import subprocess
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
    MAX_TIME,
    MIN_TIME,
    Accumulation,
    ArgumentError,
    AtCount,
    AtPeriod,
    AtWatermark,
    CalendarMonths,
    Change,
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
    Timing,
    WindowFn,
    event_time,
    processing_time,
)
from tests.support.generated_runs import runs, sums
from tests.support.scores import POINTS, SCORES, Score, minute

TWO = timedelta(minutes=2)


def laid_out(run: Run[object]) -> Layout:
    """What ``draw_run`` draws where no key is named."""
    facts = run_facts(run)
    return layout_of(facts, facts.keys()[:MAX_KEYS])


def story() -> Timeline[Score]:
    """Two teams: elements on time, one that is late, and one that is too late."""
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


def told(windows: WindowFn, accumulation: Accumulation = Accumulation.ACCUMULATING) -> ReferenceRun[object]:
    """Sums per team over the story: early each minute, on time, and with each late element."""
    trigger = AtWatermark().with_early_firings(AtPeriod(timedelta(minutes=1))).with_late_firings(AtCount(1))
    pipeline: PCollection[object] = POINTS.window(
        windows, trigger=trigger, accumulation=accumulation, allowed_lateness=TWO
    ).combine_per_key(Sum())
    return reference.run(pipeline, {SCORES: story()})


@pytest.mark.long
@given(runs())
def test_any_run_has_pictures(run: ReferenceRun[object]) -> None:
    """Of any pipeline over any timelines: SVGs that can be parsed, and no error."""
    assert ET.fromstring(run_svg(run)).tag.endswith("svg")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "progress.svg"
        draw_progress(run, path)
        assert ET.fromstring(path.read_text()).tag.endswith("svg")


@given(runs())
def test_every_pane_and_element_is_in_the_layout_or_counted_as_left_out(run: ReferenceRun[object]) -> None:
    """What is left out is of keys that are not drawn, or beyond the axes: the runs are too short for another reason."""
    layout, facts = laid_out(run), run_facts(run)
    keys, plane = facts.keys()[:MAX_KEYS], layout.panels[0].plane
    panes = [pane for panel in layout.panels for pane in panel.panes]
    wanted = [one.pane for one in facts.panes if one.key in keys and plane.shows(one.pane.window)]
    assert Counter((one.timing, one.change) for one in panes) == Counter(
        (one.timing, one.change) for one in wanted
    )
    assert layout.omitted.panes == len(run.panes) - len(wanted)
    assert layout.omitted.keys == len(facts.keys()) - len(layout.panels)
    if len(layout.panels) == 1 and not layout.omitted.keys:
        inside = [one for one in facts.elements if one.event_time in plane.events]
        assert len(layout.panels[0].dots) == len(inside)
        assert layout.omitted.elements == len(facts.elements) - len(inside)


@given(runs())
def test_nothing_is_outside_of_the_axes(run: ReferenceRun[object]) -> None:
    """Dots, panes, labels, the watermark and the ideal: all inside."""
    for panel in laid_out(run).panels:
        frame = panel.plane.box.expanded(1e-6)
        points = [(dot.x, dot.y) for dot in panel.dots] + [*panel.watermark, *panel.ideal]
        boxes = [one.box for one in panel.panes]
        boxes += [one.label.box for one in panel.panes if one.label is not None]
        points += [corner for box in boxes for corner in ((box.left, box.bottom), (box.right, box.top))]
        assert all(frame.left <= x <= frame.right and frame.bottom <= y <= frame.top for x, y in points)
        assert all(box.width > 0 and box.height > 0 for box in boxes)


@given(runs())
def test_labels_do_not_overlap(run: ReferenceRun[object]) -> None:
    """Each value that is written can be read."""
    for panel in laid_out(run).panels:
        labels = [one.label.box for one in panel.panes if one.label is not None]
        assert not any(one.intersects(other) for one, other in combinations(labels, 2))


@given(runs())
def test_the_watermark_never_goes_back(run: ReferenceRun[object]) -> None:
    """Neither to the left, nor down."""
    for panel in laid_out(run).panels:
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(panel.watermark))


@given(sums())
def test_an_element_is_dropped_if_a_window_refused_it(run: ReferenceRun[object]) -> None:
    """And for each drop there is an element that is: at its time, and seen then."""
    facts = run_facts(run)
    dropped = {
        (one.processing_time, one.event_time) for one in facts.elements if one.status is ElementStatus.DROPPED
    }
    assert dropped == {(one.processing_time, one.event_time) for one in run.dropped}


@given(sums())
def test_an_element_is_late_if_it_lies_to_the_left_of_the_watermark(run: ReferenceRun[object]) -> None:
    """That is where the watermark was before the element was seen: told by the first instant after that."""
    for one in run_facts(run).elements:
        before = [r.input for r in run.watermarks if r.processing_time < one.processing_time]
        upto = [r.input for r in run.watermarks if r.processing_time <= one.processing_time]
        if one.status is ElementStatus.ON_TIME:
            assert one.event_time >= max(before, default=MIN_TIME)
        if one.status is ElementStatus.LATE:
            assert one.event_time < max(upto)


@given(sums())
def test_kept_windows_are_counted_as_the_interpreter_keeps_them(run: ReferenceRun[object]) -> None:
    """The short way to count them, from the elements, and the long one, through the run again, agree."""
    assert count_live_windows(run, run_facts(run).elements) == count_by_replay(run.spec)


def test_windows_are_kept_until_their_lateness_is_over() -> None:
    """The windows of the story: three of them, and none once the watermark is two minutes beyond all."""
    run = told(FixedWindows(TWO))
    kept = count_live_windows(run, run_facts(run).elements)
    assert [kept[processing_time(minute(at))] for at in (1, 2.5, 4, 6, 9)] == [2, 3, 3, 0, 0]


def test_the_fates_of_the_story() -> None:
    """One element is late and taken, one is dropped, five are on time."""
    statuses = Counter(one.status for one in run_facts(told(FixedWindows(TWO))).elements)
    assert statuses == {ElementStatus.ON_TIME: 5, ElementStatus.LATE: 1, ElementStatus.DROPPED: 1}


def test_what_lies_on_the_watermark_is_not_late() -> None:
    """Nor what is seen together with a watermark beyond it: the watermark before is what counts."""
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(0)), watermark=minute(1))
        .at(minute(2), Score("a", 1, minute(1)), Score("a", 1, minute(0.9)))
    )
    run = reference.run(POINTS.window(FixedWindows(TWO)).combine_per_key(Sum()), {SCORES: timeline})
    assert [one.status for one in run_facts(run).elements] == [
        ElementStatus.ON_TIME,
        ElementStatus.ON_TIME,
        ElementStatus.LATE,
    ]


def test_a_pane_reaches_from_the_one_before_it_or_from_its_first_element() -> None:
    """Those of the first window of team a: at 12:01, when its first element is seen, 12:03 and, late, 12:04."""
    (panel,) = layout_of(run_facts(told(FixedWindows(TWO))), ["a"]).panels
    first = panel.plane.x(event_time(minute(0)))
    edges = [(one.box.bottom, one.box.top) for one in panel.panes if one.box.left == pytest.approx(first)]
    one, three, four = (panel.plane.y(processing_time(minute(at))) for at in (1, 3, 4))
    assert [edge for pair in edges for edge in pair] == pytest.approx(
        [one - BAR, one, one, three, three, four]
    )
    b = layout_of(run_facts(told(FixedWindows(timedelta(hours=1)))), ["b"]).panels[0]
    assert [pane.label.text for pane in b.panes if pane.label] == ["1", "10"]


def test_a_session_reaches_up_from_those_that_it_is_made_of() -> None:
    """From the pane of the shorter one, and not from the first element again."""
    timeline = (
        Timeline[Score]()
        .at(minute(1.2), Score("a", 1, minute(1)), watermark=minute(0))
        .at(minute(2.5), Score("a", 1, minute(1.5)))
        .at(minute(3.5))
    )
    pipeline = POINTS.window(Sessions(TWO), trigger=Repeat(AtPeriod(timedelta(minutes=1)))).combine_per_key(
        Sum()
    )
    (panel,) = laid_out(reference.run(pipeline, {SCORES: timeline})).panels
    one, other = panel.panes
    assert other.box.bottom == pytest.approx(one.box.top)
    assert other.box.right > one.box.right


def test_a_session_takes_the_place_of_those_that_it_is_made_of() -> None:
    """Its pane reaches up from theirs; those that are taken back are bars at its top."""
    run = told(Sessions(timedelta(minutes=1)), Accumulation.RETRACTING)
    (panel,) = layout_of(run_facts(run), ["a"]).panels
    bars = [one for one in panel.panes if one.change is Change.RETRACTION]
    values = [one for one in panel.panes if one.change is Change.VALUE]
    assert bars
    for bar in bars:
        assert any(
            one.box.top == pytest.approx(bar.box.top) and one.box.intersects(bar.box) for one in values
        )
        assert any(one.box.top < bar.box.top for one in values)
    labels = {one.label.text for one in bars if one.label is not None}
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
    """A month at most of event time, and some minutes of processing time, though the watermark ends at the end."""
    run = told(windows)
    for panel in laid_out(run).panels:
        assert panel.panes
        assert panel.plane.events.length < 34 * DAY
        assert panel.plane.clock.length < 10 * MINUTE


def test_an_end_of_the_input_long_after_all_else_does_not_widen_the_axes() -> None:
    """It is said instead."""
    pipeline = POINTS.window(FixedWindows(TWO)).combine_per_key(Sum())
    run = reference.run(pipeline, {SCORES: story().without_end().end(minute(9_000))})
    layout = laid_out(run)
    assert layout.panels[0].plane.clock.length < 10 * MINUTE
    assert "the input ended after the time shown" in layout.notes


def test_a_clock_that_is_years_off_does_not_widen_the_axes() -> None:
    """Its element is left out, and counted."""
    records = [Score("a", 1, minute(i / 10)) for i in range(200)] + [Score("a", 1, minute(9_000_000))]
    timeline = Timeline[Score]().at(minute(30), *records, watermark=minute(0))
    run = reference.run(POINTS.window(FixedWindows(TWO)).combine_per_key(Sum()), {SCORES: timeline})
    layout = laid_out(run)
    assert layout.panels[0].plane.events.length < 40 * MINUTE
    assert layout.omitted.elements == 1
    assert "1 late, dropped or distant elements are not drawn" in layout.notes


def long_run(instants: int, in_each: int) -> ReferenceRun[object]:
    """What a long run leaves but for its panes, without having been run: every tenth element is late."""
    timeline = Timeline(
        tuple(
            one
            for number in range(instants)
            for one in Timeline[Score]().at(
                minute(number),
                *(Score("a", 1, minute(number - 9.5 * (i % 10 == 0) - i / in_each)) for i in range(in_each)),
                watermark=minute(number - 4),
            )
        )
    )
    readings = tuple(WatermarkReading(one.processing_time, one.watermark, one.watermark) for one in timeline)
    pipeline = POINTS.window(FixedWindows(TWO), allowed_lateness=TWO).combine_per_key(Sum())
    return ReferenceRun((), (), readings, RunSpec(pipeline, {"scores": timeline}, Mode.MICRO_BATCH))


def test_a_long_run_is_drawn_as_a_density_and_stays_small() -> None:
    """All elements are in it or counted, and all that was late is a dot, up to a bound."""
    run = long_run(1000, 20)
    (panel,) = laid_out(run).panels
    assert panel.density is not None
    assert panel.density.total == 18_002
    assert laid_out(run).omitted.elements == 1_998 - len(panel.dots)
    assert {one.status for one in panel.dots} == {ElementStatus.LATE}
    assert len(panel.dots) == 1500
    assert any("18,002 elements are drawn as a density" in note for note in laid_out(run).notes)
    assert len(run_svg(run)) < 1_000_000


def test_more_panes_than_can_be_read_are_those_of_the_busiest_windows() -> None:
    """And the picture says how many there were."""
    run = told(FixedWindows(TWO))
    (pane, *_) = run.panes
    windows = FixedWindows(timedelta(minutes=1))
    many = [
        evolve(pane, window=window, info=evolve(pane.info, index=index))
        for number in range(900)
        for window in windows.assign(event_time(minute(number)), "a")
        for index in range(3 if number % 3 == 0 else 1)
    ]
    layout = laid_out(Run(tuple(many), ()))
    (panel,) = layout.panels
    assert len(panel.panes) + layout.omitted.panes == len(many) == 1500
    assert MAX_PANES * 0.9 < len(panel.panes) <= MAX_PANES
    per_window = Counter(round(one.box.left, 2) for one in panel.panes)
    assert sum(count == 3 for count in per_window.values()) == 300
    assert any(note.startswith(f"{len(panel.panes):,} of 1,500 panes are drawn") for note in layout.notes)


@given(st.lists(st.integers(), max_size=200), st.integers(2, 50))
def test_what_is_thinned_is_spread_over_all(items: list[int], most: int) -> None:
    """From the first to the last, in order, no more than asked for."""
    chosen = thin(list(enumerate(items)), most)
    assert len(chosen) == min(len(items), most)
    assert [number for number, _ in chosen] == sorted({number for number, _ in chosen})
    if items:
        assert (chosen[0][0], chosen[-1][0]) == (0, len(items) - 1)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50)), max_size=50))
def test_a_density_counts_all(points: list[tuple[float, float]]) -> None:
    """Each point in one square that exists."""
    found = Density.of(points, 100, 50, 7)
    assert found.total == len(points)
    assert all(0 <= column < found.columns and 0 <= row < found.rows for column, row, _ in found.counts)


@given(
    st.integers(MIN_TIME, MAX_TIME - 2), st.integers(0, 56).map(lambda power: 2**power), st.integers(3, 12)
)
def test_ticks_are_few_and_tell_each_other_apart(first: int, length: int, most: int) -> None:
    """Of a range of any length, from a microsecond to thousands of years: in order, inside, and no two alike."""
    span = Range(first, min(first + length, MAX_TIME))
    ticks = choose_ticks(span, most)
    shares = [one.fraction for one in ticks.ticks]
    assert len(shares) <= most + 1
    assert shares == sorted(shares)
    assert all(0 <= one <= 1 for one in shares)
    days = [one.label.partition("\n")[2] for one in ticks.ticks]
    for number, day in enumerate(days):
        days[number] = day or (days[number - 1] if number else "")
    said = [f"{day} {one.label.partition(chr(10))[0]}" for day, one in zip(days, ticks.ticks, strict=True)]
    assert len(set(said)) == len(said)


def test_ticks_say_their_date_where_it_changes() -> None:
    """Times of one day have it at the axis instead."""
    one_day = Range(processing_time(minute(0)), processing_time(minute(30)))
    assert choose_ticks(one_day, 4).axis_label("event time") == "event time (UTC), 1 January 2024"
    assert [one.label for one in choose_ticks(one_day, 4).ticks] == ["12:00", "12:10", "12:20", "12:30"]
    two_days = Range(processing_time(minute(0)), processing_time(minute(60 * 24)))
    assert [one.label for one in choose_ticks(two_days, 5).ticks] == [
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
def test_what_is_far_beyond_the_rest_is_not_reached(near: list[int], far: list[int]) -> None:
    """If there is enough of the rest to tell."""
    first, last = core_range([*near, *far])
    assert first == min(near)
    assert last == (max(near) if len(near) >= 20 else max([*near, *far]))


@given(runs())
def test_the_lag_is_of_the_clock_over_the_watermark(run: ReferenceRun[object]) -> None:
    """At each instant at which the watermark says something; panes are all in the buckets."""
    series = time_series_of(run, run_facts(run))
    assert sum(one.total for one in series.buckets) == len(run.panes)
    if series.thinned:
        assert len(series.lag) <= MAX_POINTS + 2
        return
    for one in run.watermarks:
        if MIN_TIME < one.input < MAX_TIME:
            assert (one.processing_time, one.processing_time - one.input) in series.lag


def test_buckets_tell_the_timings_apart() -> None:
    """Retractions are none of the values."""
    run = told(FixedWindows(TWO), Accumulation.RETRACTING)
    buckets = time_series_of(run, run_facts(run)).buckets
    for timing in Timing:
        wanted = sum(one.timing is timing and one.change is Change.VALUE for one in run.panes)
        assert sum(dict(one.values)[timing] for one in buckets) == wanted
    assert (
        sum(one.retractions for one in buckets)
        == sum(one.change is Change.RETRACTION for one in run.panes)
        > 0
    )


def test_the_keys_with_most_elements_are_drawn() -> None:
    """Four of them; or the one that is asked for. The picture says how many there are."""
    scores = [Score(f"team {n}", 1, minute(n / 10)) for n in range(6) for _ in range(n + 1)]
    pipeline = POINTS.window(FixedWindows(TWO)).combine_per_key(Count())
    run = reference.run(pipeline, {SCORES: Timeline[Score]().at(minute(5), *scores).end(minute(6))})
    layout = laid_out(run)
    assert [one.title for one in layout.panels] == [f"key 'team {n}'" for n in (5, 4, 3, 2)]
    assert [len(one.dots) for one in layout.panels] == [6, 5, 4, 3]
    assert layout.notes[0] == "4 of 6 keys are drawn, those with the most elements"
    assert layout.omitted.keys == 2
    svg = run_svg(run, key="team 0")
    assert "team 0" in svg
    assert "team 5" not in svg
    with pytest.raises(
        ArgumentError, match="key must be a key of the run, such as 'team 5', .*; got 'nobody'"
    ):
        run_svg(run, key="nobody")


def test_a_pipeline_that_gives_no_pairs_is_drawn_in_one() -> None:
    """All its keys together, and all its elements."""
    pipeline = SCORES.window(FixedWindows(TWO)).combine_globally(Count())
    run = reference.run(pipeline, {SCORES: story()})
    (panel,) = laid_out(run).panels
    assert panel.title == ""
    assert len(panel.dots) == 7
    assert len(panel.panes) == len(run.panes)


def test_elements_of_several_sources_and_filters_are_told() -> None:
    """Those that never came to a grouping are counted."""
    pipeline = POINTS.filter(lambda pair: pair.value > 2).window(FixedWindows(TWO)).combine_per_key(Sum())
    layout = laid_out(reference.run(pipeline, {SCORES: story()}))
    assert sum(len(one.dots) for one in layout.panels) == 4
    assert "3 elements that did not reach a grouping are not drawn" in layout.notes


def test_an_element_lies_at_its_sources_event_time() -> None:
    """And goes into the window of the time that it was given later."""
    pipeline = (
        SCORES.with_timestamps(lambda s: s.at + timedelta(minutes=10))
        .key_by(lambda s: s.team)
        .window(FixedWindows(TWO))
        .combine_per_key(Count())
    )
    facts = run_facts(reference.run(pipeline, {SCORES: story()}))
    assert facts.elements[0].event_time == event_time(minute(0.5))
    assert facts.elements[0].grouped_as[0].event_time == event_time(minute(10.5))


def test_a_run_of_another_engine_is_drawn_as_far_as_it_says() -> None:
    """Its panes, and the watermark that they carry; not its elements."""
    reference_run = told(FixedWindows(TWO))
    run = Run(reference_run.panes, reference_run.dropped)
    facts = run_facts(run)
    assert facts.elements == ()
    assert facts.panes == run_facts(reference_run).panes
    assert {(one.processing_time, one.input) for one in facts.readings} == {
        (one.processing_time, one.watermark) for one in run.panes
    }
    assert count_live_windows(run, facts.elements) == {}
    assert "unknown for a run" in svg_of_progress(run)
    assert run_svg(run)


@frozen
class Rude:
    """A value whose text is no good for a picture."""

    text: str

    def __repr__(self) -> str:
        return self.text


@pytest.mark.parametrize("text", ["$x_1$", "<b>&\"'", "a\nb", "\x00\x1b", "$", "統計", "x" * 500, ""])
def test_any_value_can_be_a_label(text: str) -> None:
    """Formulas, tags, control characters: they are text, and the SVG can be parsed."""
    run = told(FixedWindows(TWO))
    rude = tuple(evolve(one, element=KV(Rude(text), text)) for one in run.panes)
    svg = run_svg(evolve(run, panes=rude), title=text.replace("\x00\x1b", ""))
    written = "".join(ET.fromstring(svg).itertext())
    if text == "$x_1$":
        assert written.count(text) > 2


def svg_of_progress(run: Run[object]) -> str:
    """The text of the picture."""
    with TemporaryDirectory() as folder:
        draw_progress(run, f"{folder}/progress.svg")
        return Path(folder, "progress.svg").read_text()


@pytest.mark.parametrize("draw", [draw_run, draw_progress])
@pytest.mark.parametrize("suffix", [".svg", ".png", ".SVG"])
def test_the_same_picture_is_the_same_file(
    draw: Callable[[ReferenceRun[object], Path], None], suffix: str, tmp_path: Path
) -> None:
    """Byte by byte, and of the format that its suffix says."""
    run = told(SlidingWindows(2 * TWO, timedelta(minutes=1)), Accumulation.RETRACTING)
    one, other = tmp_path / f"one{suffix}", tmp_path / f"other{suffix}"
    draw(run, one)
    draw(run, other)
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes().startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")


def test_bad_paths_and_runs_are_refused(tmp_path: Path) -> None:
    """With what would do."""
    run = told(FixedWindows(TWO))
    for bad in (tmp_path / "run.pdf", "run", 7):
        with pytest.raises(ArgumentError, match="path must be a path that ends in .svg or .png; got .*"):
            draw_run(run, bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(ArgumentError, match="path must be a path that ends in .svg or .png; got .*"):
            draw_progress(run, bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="run must be a Run, as an interpreter's"):
        draw_run(run.panes, tmp_path / "run.svg")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_without_matplotlib_the_extra_is_named() -> None:
    """At the import, and not in the middle of a picture."""
    code = "import sys; sys.modules['matplotlib'] = None\nimport flowalg_tools.pictures"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: pictures need matplotlib" in done.stderr
    assert "install flowalg[plot]" in done.stderr
