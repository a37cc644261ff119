"""Panes of Beam on its DirectRunner: triggers, lateness, accumulation, several groupings, sessions, joins."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger
from apache_beam.transforms.window import FixedWindows, Sessions, TimestampedValue
from feed import (
    BASE,
    COMPOSITE,
    CORRECTION,
    JOINED,
    LATE,
    LATENESS,
    SESSIONS,
    TOO_LATE,
    WINDOW,
    Step,
    print_cells,
)

MODES = trigger.AccumulationMode
CORRECTED = trigger.AfterWatermark(late=trigger.AfterCount(1))


class Log(beam.DoFn):
    """Appends each element with its window and pane to a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def process(self, element, window=beam.DoFn.WindowParam, pane=beam.DoFn.PaneInfoParam):
        """Writes a line."""
        times = [getattr(window, name, BASE) - BASE for name in ("start", "end")]
        row = [*map(int, times), str(pane), element]
        with Path(self.path).open("a") as file:
            file.write(json.dumps(row) + "\n")


def run(steps: Iterable[Step], transform: Callable) -> list:
    """Returns what a transform gives of the keyed values: start, end, timing and element of each pane."""
    stream = TestStream().advance_watermark_to(BASE)
    for key, value, at in steps:
        if key is None:
            stream = stream.advance_watermark_to(BASE + at)
        else:
            stream = stream.add_elements([TimestampedValue((key, value), BASE + at)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        path.touch()
        with beam.Pipeline("DirectRunner", options=PipelineOptions(["--streaming"])) as pipeline:
            _ = transform(pipeline | stream.advance_watermark_to_infinity()) | beam.ParDo(Log(str(path)))
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [[start, end, timing(text), element] for start, end, text, element in rows]


def timing(text: str) -> str:
    """Returns the timing in the text of a pane."""
    return text.partition("timing: ")[2].partition(",")[0].lower()


def windows(mode=MODES.ACCUMULATING, trigger=CORRECTED, fn=None):
    """Returns the windowing of the programs."""
    return beam.WindowInto(
        fn or FixedWindows(WINDOW), trigger=trigger, accumulation_mode=mode, allowed_lateness=LATENESS
    )


def composite() -> object:
    """Early, on-time and late panes of one window."""
    early_and_late = trigger.AfterWatermark(early=trigger.AfterCount(2), late=trigger.AfterCount(1))
    rows = run(COMPOSITE, lambda values: values | windows(trigger=early_and_late) | beam.CombinePerKey(sum))
    return [[timing, value] for _, _, timing, (_, value) in rows]


def late() -> object:
    """An on-time pane and a late one."""
    rows = run(LATE, lambda values: values | windows() | beam.CombinePerKey(sum))
    return [value for _, _, _, (_, value) in rows]


def modes() -> object:
    """The panes in each mode that there is."""
    panes = {}
    for name in sorted(name for name in vars(MODES) if name.isupper()):
        windowed = windows(getattr(MODES, name))
        rows = run(LATE[:-2], lambda values, windowed=windowed: values | windowed | beam.CombinePerKey(sum))
        panes[name.lower()] = [f"+{value}" for _, _, _, (_, value) in rows]
    return panes


def drops() -> object:
    """What comes of two elements that are too late."""
    rows = run(TOO_LATE, lambda values: values | windows() | beam.CombinePerKey(sum))
    return {"panes": [value for _, _, _, (_, value) in rows], "dropped": []}


def chain() -> object:
    """The number of players by their total, before and after a late correction: the last panes."""

    def counts(values):
        totals = values | windows() | beam.CombinePerKey(sum)
        return totals | beam.Map(lambda total: (total[1], 1)) | "count" >> beam.CombinePerKey(sum)

    return [
        {str(total): count for _, _, _, (total, count) in run(steps, counts)}
        for steps in (CORRECTION[:3], CORRECTION)
    ]


def sessions() -> object:
    """The panes of sessions that a late element joins."""
    rows = run(SESSIONS, lambda values: values | windows(fn=Sessions(WINDOW)) | beam.CombinePerKey(sum))
    return [["+", start, end, value] for start, end, _, (_, value) in rows]


def joins() -> object:
    """The panes of a left join by minute, with a late match."""

    def joined(values):
        sides = {
            name: values
            | f"only {name}" >> beam.Filter(lambda value, name: value[0] == name, name)
            | f"key {name}" >> beam.Map(lambda value: ("A1", value[1]))
            | f"window {name}" >> windows()
            for name in ("order", "payment")
        }
        return sides | beam.CoGroupByKey()

    rows = []
    for _, _, _, (_, sides) in run(JOINED, joined):
        rows += [["+", order, paid] for order in sides["order"] for paid in sides["payment"] or [None]]
    return rows


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
