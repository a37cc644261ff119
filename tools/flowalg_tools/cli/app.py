"""The commands of ``flowalg``, with the arguments of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from flowalg import ArgumentError, FlowalgError, Perfect
from flowalg_tools.cli.diff import differ
from flowalg_tools.cli.draw import drawn
from flowalg_tools.cli.explain import explained
from flowalg_tools.cli.expressions import duration_of, lateness_of, policy_of
from flowalg_tools.cli.inputs import Seeing
from flowalg_tools.cli.run import Interpreter, Streaming, ran_as_batch, ran_as_stream, ran_in_memory
from flowalg_tools.cli.show import compared, demonstrated
from flowalg_tools.cli.terminal import complain
from flowalg_tools.cli.what_if import Grid, tried
from flowalg_tools.cli.why import asked

app: Final = typer.Typer(
    name="flowalg",
    help="The Dataflow Model: look at pipelines, run them, and ask them why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Pipeline = Annotated[
    str, typer.Argument(metavar="PIPELINE", help="A pipeline in a module: examples.flights:hourly.")
]
Timelines = Annotated[
    list[str],
    typer.Argument(
        metavar="TIMELINE...",
        help="A Timeline in a module, or NAME=PATH of the records of each source (with --seen).",
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option("--input", metavar="NAME=PATH", help="The data of a source: Parquet, CSV or JSON lines."),
]
Seen = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column that says when each record was seen (processing time)."),
]
Watermark = Annotated[
    str | None,
    typer.Option(metavar="POLICY", help="Such as 'BoundedOutOfOrderness(5 * minute)'."),
]
Every = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="Records of one such period are seen together: 'minute'."),
]
Recorded = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Go through a streaming run again, by what it wrote with --metrics."),
]
Open = Annotated[bool, typer.Option("--open", help="The input has not ended: windows stay open.")]


@app.command()
def explain(pipeline: Pipeline) -> None:
    """Show a pipeline: its types, when its windows come out, its hazards, and what Spark runs in Python.

    Example: flowalg explain games:STANDINGS
    """
    explained(pipeline)


@app.command()
def when(
    pipeline: Pipeline,
    timeline: Timelines,
    window: Annotated[str, typer.Option(metavar="START/END", help="The window, by ISO 8601 (UTC).")],
    key: Annotated[str | None, typer.Option(help="The key; without it all that have a pane.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Ask of this moment.")] = None,
    seen: Seen = None,
    watermark: Watermark = None,
    every: Every = None,
    open_: Open = False,
    recorded: Recorded = None,
) -> None:
    """Tell why the panes of a window came when they did, or why none has come.

    Example: flowalg when games:STANDINGS scores.csv --seen seen --watermark 'BoundedOutOfOrderness(minute)'
    --window 2015-01-01T12:00/2015-01-01T12:02 --key red
    """
    asked(pipeline, timeline, window, key, at, seeing(seen, watermark, every, open_, recorded))


@app.command()
def diff(
    left: Annotated[str, typer.Argument(metavar="TRIGGER", help="Such as 'AtCount(2).repeat()'.")],
    right: Annotated[str, typer.Argument(metavar="TRIGGER")],
    timelines: Annotated[int, typer.Option(min=1, help="How many timelines to try.")] = 2000,
) -> None:
    """Find the smallest timeline on which two triggers say something else; exits with 1 if there is one.

    Example: flowalg diff 'AtCount(2).repeat()' 'AtCount(2)'
    """
    if differ(left, right, timelines):
        raise typer.Exit(1)


@app.command()
def draw(
    pipeline: Pipeline,
    timeline: Timelines,
    output: Annotated[Path, typer.Option(help="An .svg or .png file.")],
    key: Annotated[str | None, typer.Option(help="Draw one key; else up to four.")] = None,
    progress: Annotated[
        bool, typer.Option("--progress", help="The lag, the windows kept and the panes, over time.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="Above the picture.")] = None,
    seen: Seen = None,
    watermark: Watermark = None,
    every: Every = None,
    open_: Open = False,
    recorded: Recorded = None,
) -> None:
    """Draw a run: its elements, panes and watermark in event time and processing time.

    Example: flowalg draw games:STANDINGS scores.csv --seen seen --watermark 'BoundedOutOfOrderness(minute)'
    --output run.svg
    """
    how = seeing(seen, watermark, every, open_, recorded)
    drawn(pipeline, timeline, output, how, key=key, progress=progress, title=title)


@app.command()
def what_if(
    pipeline: Pipeline,
    records: Annotated[str, typer.Argument(metavar="NAME=PATH", help="The records of the source.")],
    seen: Annotated[str, typer.Option(metavar="COLUMN", help="When each was seen (processing time).")],
    output: Annotated[Path | None, typer.Option(help="A picture: an .svg or .png file.")] = None,
    policy: Annotated[
        list[str] | None, typer.Option(metavar="POLICY", help="Each to try; else a grid from the delays.")
    ] = None,
    lateness: Annotated[
        list[str] | None, typer.Option(metavar="DURATION", help="Each to try; else a grid.")
    ] = None,
    every: Annotated[str, typer.Option(metavar="DURATION", help="How often a batch is.")] = "minute",
    tick: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The clock is looked at that often anyway.")
    ] = None,
    max_late: Annotated[float, typer.Option(min=0, max=1, help="The share that may be late.")] = 0.05,
    max_dropped: Annotated[float, typer.Option(min=0, max=1, help="That may be dropped.")] = 0.01,
) -> None:
    """Try watermark policies and allowed latenesses on recorded delays, and recommend one.

    Example: flowalg what-if games:STANDINGS scores=scores.csv --seen seen --output what-if.svg
    """
    grid = Grid(
        None if not policy else [policy_of(one, "--policy") for one in policy],
        None if not lateness else [lateness_of(one, "--lateness") for one in lateness],
        duration_of(every, "--every"),
        None if tick is None else duration_of(tick, "--tick"),
    )
    tried(pipeline, records, seen, grid, output, late=max_late, dropped=max_dropped)


@app.command()
def run(
    pipeline: Pipeline,
    given: Inputs,
    output: Annotated[Path, typer.Option(help="A .parquet, .csv or .jsonl file; of Spark, a folder.")],
    on: Annotated[Interpreter, typer.Option(help="Who runs it.")] = Interpreter.REFERENCE,
    seen: Seen = None,
    watermark: Watermark = None,
    every: Every = None,
    open_: Open = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Where a stream remembers; beside the output by default.")
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="A stream writes its clocks and counts too, for --recorded.")
    ] = False,
) -> None:
    """Run a pipeline over files, and write its panes.

    Example: flowalg run games:STANDINGS --on batch --input scores=scores.parquet --output panes.parquet
    """
    match on:
        case Interpreter.REFERENCE:
            unused("--on reference", metrics=metrics or None)
            ran_in_memory(pipeline, given, output, seeing(seen, watermark, every, open_, None))
        case Interpreter.BATCH:
            unused("--on batch", seen=seen, watermark=watermark, every=every, checkpoint=checkpoint)
            unused("--on batch", metrics=metrics or None)
            ran_as_batch(pipeline, given, output)
        case Interpreter.STREAMING:
            unused("--on streaming", every=every)
            policy = None if watermark is None else policy_of(watermark, "--watermark")
            where = output.with_name(f"{output.name}.checkpoint") if checkpoint is None else checkpoint
            ran_as_stream(pipeline, given, output, Streaming(policy, seen, where, open_, metrics))


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where panes and a picture go.")] = Path("build", "demo"),
) -> None:
    """Run a year of New York's departures through all three interpreters (about a minute); exits with 1 if they differ.

    Example: flowalg demo --output demo
    """
    if not demonstrated(output):
        raise typer.Exit(1)


@app.command()
def figures(
    output: Annotated[Path, typer.Option(help="Where the pictures go, and a page of them.")] = Path(
        "build", "figures"
    ),
) -> None:
    """Compare every figure of the papers with the reference interpreter, and draw it; exits with 1 if one differs.

    Example: flowalg figures --output figures
    """
    if not compared(output):
        raise typer.Exit(1)


def seeing(
    seen: str | None, watermark: str | None, every: str | None, stays_open: bool, recorded: Path | None
) -> Seeing:
    """How records were seen; without a watermark policy by one that knows what is still to come."""
    if recorded is not None:
        unused("--recorded", seen=seen, watermark=watermark, every=every, open=stays_open or None)
    policy = Perfect() if watermark is None else policy_of(watermark, "--watermark")
    period = None if every is None else duration_of(every, "--every")
    return Seeing(seen, policy, period, ends=not stays_open, recorded=recorded)


def unused(by: str, **options: object) -> None:
    """Raises ``ArgumentError`` for an option that would have no effect."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"--{name}", str(value), f"left out with {by}, which takes none")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; gives the exit code: 0, 1 for a difference, 2 for what cannot be done."""
    try:
        app(None if arguments is None else list(arguments))
    except FlowalgError as error:
        complain(error)
        return 2
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


__all__ = ["app", "main"]
