"""Programs with Beam: one value for batch and stream, types, laws, restart, SQL, processes, and the package itself."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import apache_beam as beam
import feed
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.external import ExternalTransform
from apache_beam.transforms.sql import SqlTransform
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from feed import (
    BASE,
    BUNDLES,
    MANY,
    STREAM,
    UNORDERED,
    WINDOW,
    at_least,
    print_cells,
    refused,
    release,
    reported_mistakes,
)


def collect(source, transform, *options: str) -> list:
    """Returns the elements that a transform gives of a source."""
    with tempfile.TemporaryDirectory() as folder:

        def write(element) -> None:
            with Path(folder, "log").open("a") as file:
                file.write(json.dumps(element) + "\n")

        with beam.Pipeline("DirectRunner", options=PipelineOptions(list(options))) as pipeline:
            _ = pipeline | source | transform | beam.Map(write)
        return [json.loads(line) for line in Path(folder, "log").read_text().splitlines()]


def with_start(pair, window=beam.DoFn.WindowParam):
    """Returns the start of the window and the value."""
    return [int(window.start) - BASE, pair[1]]


def one_value() -> object:
    """The final values of one transform as a batch and as a stream."""
    totals = (
        beam.WindowInto(FixedWindows(WINDOW)) | beam.CombinePerKey(sum) | "with start" >> beam.Map(with_start)
    )
    elements = [TimestampedValue((key, value), BASE + at) for key, value, at in UNORDERED if key]
    stream = TestStream().add_elements(elements).advance_watermark_to_infinity()
    rows = beam.Create(
        [(element.value, BASE + at) for element, (_, _, at) in zip(elements, UNORDERED, strict=False)]
    )
    batch = rows | beam.Map(lambda row: TimestampedValue(*row))
    return {
        "batch": sorted(collect(batch, totals)),
        "stream": sorted(collect(stream, totals, "--streaming")),
    }


class Score(NamedTuple):
    """Points of a player."""

    player: str
    points: int


def types() -> object:
    """The mistakes that mypy reports."""

    def sum_of_text() -> None:
        names = beam.Create([("ann", "ann")])
        _ = beam.Pipeline() | names | beam.CombinePerKey(sum).with_input_types(tuple[str, int])

    def misspelt_field() -> None:
        scores = beam.Create([Score("ann", 5)]).with_output_types(Score)
        _ = beam.Pipeline() | scores | beam.Map(lambda score: (score.playr, score.points))

    built = refused(misspelt_field=misspelt_field, sum_of_text=sum_of_text)
    mistakes = reported_mistakes("""
from typing import NamedTuple
import apache_beam as beam

class Score(NamedTuple):
    player: str
    points: int

with beam.Pipeline() as pipeline:
    scores = pipeline | beam.Create([Score("ann", 5)]).with_output_types(Score)
    keyed = scores | beam.Map(lambda score: (score.playr, score.points))  # mistake: misspelt field
    names = scores | beam.Map(lambda score: (score.player, score.player))
    total = names | beam.CombinePerKey(sum)  # mistake: sum of text
""")
    return {"mypy": mistakes, "when built": built}


class Averages(beam.CombineFn):
    """An average of averages."""

    def create_accumulator(self):
        """Returns nothing."""
        return

    def add_input(self, middle, value):
        """Returns the middle of both."""
        return value if middle is None else (middle + value) / 2

    def merge_accumulators(self, accumulators):
        """Returns the middle of the first and the second, and so on."""
        merged = None
        for accumulator in accumulators:
            merged = merged if accumulator is None else self.add_input(merged, accumulator)
        return merged

    def extract_output(self, middle):
        """Returns the middle."""
        return middle


def laws() -> object:
    """What a combiner gives whose result depends on the order."""
    values = [value for bundle in BUNDLES for value in bundle]
    orders = (values, values[::-1])
    return [*(collect(beam.Create(order), beam.CombineGlobally(Averages()))[0] for order in orders)]


class RunningSum(beam.DoFn):
    """Writes the running sum of the values."""

    SUM = ReadModifyWriteStateSpec("sum", VarIntCoder())

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def process(self, element, total=beam.DoFn.StateParam(SUM)):
        """Adds a value, and writes the sum."""
        total.write((total.read() or 0) + feed.die_once(element[1], self.folder))
        with Path(self.folder, "output").open("a") as file:
            file.write(f"{total.read()}\n")


def query(folder: str) -> None:
    """Runs the query that is killed."""
    stream = TestStream()
    for value in STREAM:
        stream = stream.add_elements([("all", value)])
    with beam.Pipeline("DirectRunner", options=PipelineOptions(["--streaming"])) as pipeline:
        _ = pipeline | stream.advance_watermark_to_infinity() | beam.ParDo(RunningSum(folder))


def restart() -> object:
    """What is written, with a kill in between."""
    return feed.restart(__file__)


def sql() -> object:
    """Whether text of SQL is compiled by the package, or by a service in Java."""
    return "a service in Java" if issubclass(SqlTransform, ExternalTransform) else "the package"


def connectors() -> object:
    """The number of transforms ``ReadFrom...`` in the modules of ``apache_beam.io``."""
    names = set()
    for path in Path(importlib.util.find_spec("apache_beam.io").origin).parent.rglob("*.py"):
        if not path.stem.endswith("_test"):
            tree = ast.parse(path.read_text())
            names |= {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    return at_least(MANY, len({name for name in names if name.startswith("ReadFrom")}))


def processes() -> object:
    """The number of processes in which a function is called."""
    options = ("--direct_num_workers=2", "--direct_running_mode=multi_processing")
    pids = beam.Reshuffle() | beam.Map(lambda value: os.getpid())
    return at_least(2, len(set(collect(beam.Create(range(1000)), pids, *options))))


def status() -> object:
    """The version."""
    return release(beam.__version__)


if __name__ == "__main__":
    print_cells(one_value, types, laws, restart, sql, connectors, processes, status, query=query)
