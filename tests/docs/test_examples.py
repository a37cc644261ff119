"""The examples run as scripts, and their results are correct, compared with plain code where that is simpler."""

from __future__ import annotations

import runpy
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import auction
import billing
import mobile_game
import pytest
import shop
from flowalg_reference import run, run_batch
from flowalg_spark import batch, collect
from flowalg_tools.cli import main
from pyspark.sql import SparkSession

from flowalg import PCollection, Source
from flowalg.runs import Change, Timing
from tests.support.spark_replay import table_of

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.parametrize("name", ["games", "shop", "billing", "mobile_game", "auction"])
def test_an_example_prints_only_when_it_is_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An example prints its results as a script, and nothing when it is imported."""
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert capsys.readouterr().out == ""
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 5


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["explain", "shop:lengths"], "sessions with a gap of 10 minutes"),
        (
            ["why", "shop:lengths", "shop:TIMELINE", "--window", "2024-05-06T09:00/2024-05-06T10:00"],
            "the late pane 1 of 'long'",
        ),
        (["draw", "shop:visits", "shop:TIMELINE", "--key", "ana", "--output", "ana.svg"], "10 panes"),
        (["explain", "billing:bills"], "days in Europe/Berlin"),
        (
            [
                *("why", "billing:bills", "billing:TIMELINE", "--key", "Acme"),
                *("--window", "2024-03-30T23:00/2024-03-31T22:00"),
            ],
            "the late pane 1 of 'Acme'",
        ),
        (["draw", "billing:bills", "billing:TIMELINE", "--output", "bills.svg"], "11 panes"),
    ],
)
def test_the_command_line_runs_an_example(
    arguments: list[str],
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A command finds the pipeline and the timeline of an example by name."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 0
    assert word in capsys.readouterr().out


def test_a_late_click_merges_two_visits() -> None:
    """Both visits are retracted, and the merged visit is long, so the counts of the hour change too."""
    hour = [
        (pane.change, pane.key, pane.value)
        for pane in run(shop.lengths, {shop.clicks: shop.TIMELINE}).panes
        if pane.window.start.datetime == shop.clock(0)
    ]
    assert hour == [
        (Change.VALUE, "long", 1),
        (Change.VALUE, "short", 3),
        (Change.RETRACTION, "long", 1),
        (Change.VALUE, "long", 2),
        (Change.RETRACTION, "short", 3),
        (Change.VALUE, "short", 1),
    ]


def test_the_current_counts_of_the_shop_equal_plain_code() -> None:
    """Plain code has the same visits, of all clicks except the dropped one, and the same counts in each hour."""
    streamed = run(shop.lengths, {shop.clicks: shop.TIMELINE})
    (late,) = streamed.dropped
    assert late.element.value == shop.CLICKS[-1]  # type: ignore[attr-defined]
    plain: Counter[tuple[int, str]] = Counter()
    for visitor in {click.visitor for click in shop.CLICKS}:
        times = sorted(click.at for click in shop.CLICKS[:-1] if click.visitor == visitor)
        starts = [0, *(n for n in range(1, len(times)) if times[n] - times[n - 1] > timedelta(minutes=10))]
        for start, end in zip(starts, [*starts[1:], len(times)], strict=True):
            long = times[end - 1] - times[start] >= timedelta(minutes=5)
            plain[(times[end - 1] + timedelta(minutes=10)).hour, "long" if long else "short"] += 1
    current: Counter[tuple[int, str]] = Counter()
    for pane in streamed.panes:
        sign = 1 if pane.change is Change.VALUE else -1
        current[pane.window.start.datetime.hour, pane.key] += sign * pane.value
    assert +current == plain


def test_days_of_clock_changes_have_23_or_25_hours() -> None:
    """With one click per hour, the first bill of a day has as many clicks as the day has hours: 23, 24 or 25."""
    first = {
        pane.window.start.datetime.astimezone(billing.BERLIN).date(): pane.value.clicks
        for pane in run(billing.bills, {billing.clicks: billing.TIMELINE}).panes
        if pane.key == "Acme" and pane.index == 0
    }
    assert {day: clicks for day, clicks in first.items() if clicks != 24} == {
        date(2024, 3, 31): 23,
        date(2024, 10, 27): 25,
    }


def test_an_auction_closes_when_its_record_says() -> None:
    """The highest bid inside of each auction's own time wins, in any order of arrival; equal to plain code."""
    plain = {
        (record.auction, record.at, record.closes): max(
            [
                bid.cents
                for bid in auction.EVENTS
                if bid.auction == record.auction and record.at <= bid.at < record.closes
            ]
        )
        for record in auction.EVENTS
        if record.closes is not None
    }
    panes = run(auction.outcomes, {auction.events: auction.TIMELINE}).panes
    outcomes = {
        (pair.key, bounds.start, bounds.end): pair.value.highest
        for pair, bounds in (p.element for p in panes)
    }
    assert outcomes == plain
    assert sorted(plain.values()) == [0, 300, 700]


def test_late_clicks_correct_a_bill_unless_they_are_dropped() -> None:
    """Two late clicks cause one credit note and one bill, since corrections fire once a day; one click is dropped."""
    bills = run(billing.bills, {billing.clicks: billing.TIMELINE})
    notes = [
        (pane.key, pane.change, pane.value)
        for pane in bills.panes
        if pane.index == 1 or pane.change is Change.RETRACTION
    ]
    assert notes == [
        ("Acme", Change.RETRACTION, billing.Bill(23, 230)),
        ("Acme", Change.VALUE, billing.Bill(25, 250)),
    ]
    (late,) = bills.dropped
    assert late.element.value == billing.CLICKS[-1]  # type: ignore[attr-defined]


def test_the_statistics_of_the_game_equal_plain_code() -> None:
    """Plain code finds the robot, and has the same points of teams without it; the stream ends like the batch."""
    plain: Counter[tuple[int, str]] = Counter()
    for score in mobile_game.SCORES:
        if score.player != "robot":
            plain[score.at.hour, score.team] += score.points
    inputs = {mobile_game.scores: mobile_game.SCORES}
    honest = run_batch(mobile_game.honest_team_scores, inputs).panes
    assert {(pane.window.start.datetime.hour, pane.key): pane.value for pane in honest} == plain
    streamed = run(mobile_game.team_board, {mobile_game.scores: mobile_game.TIMELINE})
    assert not streamed.dropped
    assert any(pane.timing is Timing.LATE for pane in streamed.panes)
    totals = run_batch(mobile_game.hourly_team_scores, inputs).final_values()
    assert {(value.window, value.element) for value in streamed.final_values()} == {
        (value.window, value.element) for value in totals
    }


@pytest.mark.parametrize(
    ("pipeline", "source", "elements"),
    [
        (shop.lengths, shop.clicks, shop.CLICKS),
        (billing.bills, billing.clicks, billing.CLICKS),
        (mobile_game.honest_team_scores, mobile_game.scores, tuple(mobile_game.SCORES)),
    ],
    ids=["shop", "billing", "mobile game"],
)
def test_spark_batch_equals_the_reference(
    pipeline: PCollection[object],
    source: Source[object],
    elements: tuple[object, ...],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    """Spark batch emits the reference's panes for all clicks at once, except for their order and processing time."""
    from pyarrow import parquet

    path = str(tmp_path / "clicks.parquet")
    parquet.write_table(table_of(type(elements[0]), elements), path)
    panes = collect(pipeline, batch.compile(pipeline, {source: spark.read.parquet(path)}))
    expected = run_batch(pipeline, {source: elements}).panes
    assert Counter((pane.element, pane.window) for pane in panes) == Counter(
        (pane.element, pane.window) for pane in expected
    )
