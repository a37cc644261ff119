"""The commands of ``flowalg`` and their arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from attrs import evolve

from flowalg import FlowalgError, Perfect
from flowalg.errors import ArgumentError, UnsupportedError
from flowalg_tools.cli.diff import compare_triggers
from flowalg_tools.cli.draw import draw_pipeline
from flowalg_tools.cli.explain import explain_pipeline
from flowalg_tools.cli.expressions import parse_duration, parse_lateness, parse_policy
from flowalg_tools.cli.failures import describe_failure
from flowalg_tools.cli.inputs import TimelineOptions
from flowalg_tools.cli.move import move_query
from flowalg_tools.cli.plan import divide_local_state, divide_spark_state, is_local, plan_changes
from flowalg_tools.cli.run import SparkOptions, run_batch, run_in_process, run_streaming
from flowalg_tools.cli.terminal import UNREAD, escape_what_has_no_code, finish, print_error
from flowalg_tools.cli.what_if import Grid, recommend
from flowalg_tools.cli.why import explain_computation, explain_window

app: Final = typer.Typer(
    name="flowalg",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

MOST_MICRO_BATCHES: Final = 1_000
"""The most micro-batches of a run that does not say how its records are divided."""


def _show_version(given: bool) -> None:  # as Typer calls it
    if given:
        print(f"flowalg {version('flowalg')}")
        raise typer.Exit


@app.callback()
def flowalg(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """The Dataflow Model: inspect pipelines, run them, and debug their runs."""


Pipeline = Annotated[
    str, typer.Argument(metavar="PIPELINE", help="A pipeline in a module, such as examples.flights:hourly.")
]
Timelines = Annotated[
    list[str],
    typer.Argument(
        metavar="TIMELINE...",
        help="A Timeline in a module, or NAME=PATH for the records of each source (needs --processing-time).",
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option(
        "--input",
        metavar="NAME=PATH",
        help="The data of a source, a file or folder of Parquet, CSV or JSON lines, such as scores=scores.csv. "
        "Repeatable.",
    ),
]
Checkpoint = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT",
        help="The folder with the checkpoint of a query that does not run, or its URL in an object store.",
    ),
]
Output = Annotated[Path, typer.Option(help="The .svg or .png file to write.")]
ProcessingTime = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column with the processing time of each record, a time with a time zone, such as seen.",
    ),
]
Watermark = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        help="The watermark policy: an expression over flowalg's policies and durations, such as "
        "'ProcessingTimeLag(5 * minute)'. Default: Perfect(); a stream needs one.",
    ),
]
SourceWatermark = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column with the watermark that the source publishes with some records, a time with a time zone. A "
        "policy follows it; Perfect() is the watermark itself.",
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="The micro-batch interval, in processing time: 'minute', '90 * second', '2 * hour'. Default: "
        "one for each processing time.",
    ),
]
Replay = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Replay a streaming run from the output that it wrote with --metrics."),
]
Unbounded = Annotated[
    bool, typer.Option("--unbounded", help="The input is unbounded: do not close the windows at its end.")
]


@app.command()
def explain(pipeline: Pipeline) -> None:
    """Show a pipeline: its types, triggers and hazards, and how many functions run in Python.

    Example: flowalg explain games:STANDINGS
    """
    explain_pipeline(pipeline)


@app.command()
def why(
    pipeline: Pipeline,
    timeline: Timelines,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="START/END",
            help="The window, in ISO 8601 and UTC, such as 2015-01-01T12:00/2015-01-01T12:02. A computation has none.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The key, such as red. Default: every key with an output."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="The processing time to explain, in ISO 8601 and UTC. Default: the end."
        ),
    ] = None,
    processing_time: ProcessingTime = None,
    watermark: Watermark = None,
    source_watermark: SourceWatermark = None,
    every: Every = None,
    unbounded: Unbounded = False,
    replay: Replay = None,
) -> None:
    """Explain why the panes of a window fired when they did, or why none has fired.

    Without a window, explain the outputs of a computation, or what a key is waiting for.

    Example: flowalg why games:STANDINGS scores.csv --processing-time seen
    --watermark 'BoundedOutOfOrderness(minute)' --window 2015-01-01T12:00/2015-01-01T12:02 --key red
    """
    options = timeline_options(processing_time, watermark, every, unbounded, replay, source_watermark)
    if window is None:
        explain_computation(pipeline, timeline, key, at, options)
    else:
        explain_window(pipeline, timeline, window, key, at, options)


@app.command()
def diff(
    left: Annotated[
        str,
        typer.Argument(
            metavar="TRIGGER", help="An expression over flowalg's triggers, such as 'AtCount(2).repeat()'."
        ),
    ],
    right: Annotated[str, typer.Argument(metavar="TRIGGER", help="Such as 'AtCount(2)'.")],
    timelines: Annotated[int, typer.Option(min=1, help="The number of timelines to try.")] = 2000,
) -> None:
    """Find the smallest timeline on which two triggers emit different panes; exits with 1 if there is one.

    Example: flowalg diff 'AtCount(2).repeat()' 'AtCount(2)'
    """
    if compare_triggers(left, right, timelines):
        raise typer.Exit(1)


@app.command()
def draw(
    pipeline: Pipeline,
    timeline: Timelines,
    output: Output,
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The key to draw, such as red. Default: up to four keys."),
    ] = None,
    progress: Annotated[
        bool, typer.Option("--progress", help="Draw watermark lag, live windows and panes over time instead.")
    ] = False,
    title: Annotated[str | None, typer.Option(help="The title of the picture.")] = None,
    processing_time: ProcessingTime = None,
    watermark: Watermark = None,
    source_watermark: SourceWatermark = None,
    every: Every = None,
    unbounded: Unbounded = False,
    replay: Replay = None,
) -> None:
    """Draw a run: its elements, panes and watermark in event time and processing time.

    Example: flowalg draw games:STANDINGS scores.csv --processing-time seen
    --watermark 'BoundedOutOfOrderness(minute)' --output run.svg
    """
    options = timeline_options(processing_time, watermark, every, unbounded, replay, source_watermark)
    draw_pipeline(pipeline, timeline, output, options, key=key, progress=progress, title=title)


@app.command()
def what_if(
    pipeline: Pipeline,
    records: Annotated[
        str, typer.Argument(metavar="NAME=PATH", help="The records of the source, such as scores=scores.csv.")
    ],
    processing_time: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="The column with the processing time of each record, a time with a time zone, such as seen.",
        ),
    ],
    output: Annotated[Path | None, typer.Option(help="The .svg or .png file to draw.")] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help="A policy to try, such as 'ProcessingTimeLag(5 * minute)'; repeatable. Default: a "
            "grid from the delays.",
        ),
    ] = None,
    lateness: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DURATION",
            help="An allowed lateness to try, such as '5 * minute' or FOREVER; repeatable. Default: a grid.",
        ),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="DURATION", help="The micro-batch interval, such as '10 * second'.")
    ] = "minute",
    tick: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Advance the clock this often without records too, such as 'minute'."
        ),
    ] = None,
    max_late: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="The largest acceptable share of late elements, from 0 to 1."
        ),
    ] = 0.05,
    max_dropped: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="The largest acceptable share of dropped elements, from 0 to 1.",
        ),
    ] = 0.01,
) -> None:
    """Evaluate watermark policies and allowed lateness on recorded delays, and recommend a choice.

    Example: flowalg what-if games:STANDINGS scores=scores.csv --processing-time seen --output what-if.svg
    """
    grid = Grid(
        None if not policy else [parse_policy(text, "--policy") for text in policy],
        None if not lateness else [parse_lateness(text, "--lateness") for text in lateness],
        parse_duration(every, "--every"),
        None if tick is None else parse_duration(tick, "--tick"),
    )
    recommend(pipeline, records, processing_time, grid, output, late=max_late, dropped=max_dropped)


@app.command()
def run(
    pipeline: Pipeline,
    inputs: Inputs,
    output: Annotated[Path, typer.Option(help="A .parquet, .csv or .jsonl file; on Spark, a folder.")],
    on: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The interpreter: local or reference in this process, batch or streaming on Spark, or another that is "
            "installed.",
        ),
    ] = "local",
    processing_time: ProcessingTime = None,
    watermark: Watermark = None,
    source_watermark: SourceWatermark = None,
    every: Every = None,
    unbounded: Unbounded = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="The checkpoint folder of a stream. Default: next to the output.")
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="A stream also writes the metrics that --replay reads.")
    ] = False,
    dead_letters: Annotated[
        bool,
        typer.Option(
            "--dead-letters",
            help="Write bad records with their error, instead of failing: a stream among its drops, the others next "
            "to the output.",
        ),
    ] = False,
    batch_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="A micro-batch has this many records, in order of processing time, such as 10000. Default: at most "
            "1,000 micro-batches; on Spark, all files at once.",
        ),
    ] = None,
) -> None:
    """Run a pipeline over files and write its panes.

    Example: flowalg run games:STANDINGS --input scores=scores.parquet --output panes.parquet
    """
    if batch_rows is not None and every is not None:
        raise ArgumentError("--every", every, "omitted with --batch-rows")
    match on:
        case "batch":
            reject_options(
                "--on batch",
                processing_time=processing_time,
                watermark=watermark,
                source_watermark=source_watermark,
                every=every,
                checkpoint=checkpoint,
                metrics=metrics or None,
                batch_rows=batch_rows,
            )
            run_batch(pipeline, inputs, output, dead_letters=dead_letters)
        case "streaming":
            policy = None if watermark is None else parse_policy(watermark, "--watermark")
            where = output.with_name(f"{output.name}.checkpoint") if checkpoint is None else checkpoint
            stream = SparkOptions(
                processing_time=processing_time,
                source_watermark=source_watermark,
                dead_letters=dead_letters,
                watermark=policy,
                checkpoint=where,
                unbounded=unbounded,
                metrics=metrics,
                batch_rows=batch_rows,
                every=None if every is None else parse_duration(every, "--every"),
            )
            run_streaming(pipeline, inputs, output, stream)
        case _:
            reject_options(f"--on {on}", checkpoint=checkpoint, metrics=metrics or None)
            if processing_time is None:
                reject_options("a batch, which has no --processing-time", batch_rows=batch_rows)
            options = timeline_options(
                processing_time,
                watermark,
                every,
                unbounded,
                None,
                source_watermark,
                dead_letters=dead_letters,
            )
            options = evolve(options, batch_rows=batch_rows, most=MOST_MICRO_BATCHES)
            run_in_process(on, pipeline, inputs, output, options)


@app.command()
def plan(
    pipeline: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE",
            help="A pipeline in a module, such as examples.flights:hourly, or a mapping of names to the outputs of a "
            "query.",
        ),
    ],
    checkpoint: Checkpoint,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="The number of shards to start with. Default: that of the checkpoint.",
        ),
    ] = None,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="The query keeps bad records apart.")
    ] = False,
) -> None:
    """Show what a changed pipeline can continue from a checkpoint, before it starts; exits with 1 if it cannot start.

    Example: flowalg plan games:STANDINGS checkpoint
    """
    if not plan_changes(pipeline, checkpoint, shards, dead_letters=dead_letters):
        raise typer.Exit(1)


@app.command()
def reshard(
    checkpoint: Checkpoint,
    shards: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="The new number of shards.")],
    into: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder of the new checkpoint, for a checkpoint of Spark."),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="On Spark, the shuffle partitions of the session of the query. Default: the number of shards.",
        ),
    ] = None,
) -> None:
    """Divide the state in a checkpoint into another number of shards; for Spark, in a new checkpoint.

    Example: flowalg reshard checkpoint --shards 8
    """
    if is_local(checkpoint):
        reject_options("a checkpoint of the local engine", into=into, partitions=partitions)
        divide_local_state(checkpoint, shards)
    else:
        divide_spark_state(checkpoint, shards, into, partitions)


@app.command()
def move(
    pipeline: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE",
            help="The pipeline of the query, such as examples.flights:hourly, or a mapping of names to its outputs.",
        ),
    ],
    checkpoint: Checkpoint,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="NAME=FOLDER...", help="The folder of files of each source."),
    ],
    to: Annotated[Literal["spark", "local"], typer.Option(help="The engine on which the query goes on.")],
    into: Annotated[str, typer.Option(metavar="FOLDER", help="The folder of the new checkpoint.")],
    shards: Annotated[
        int,
        typer.Option(
            min=1, metavar="NUMBER", help="The number of shards there; on Spark also of partitions."
        ),
    ] = 2,
) -> None:
    """Move a stopped query from the local engine to Spark, or back: with its state, and what its sources have read.

    Example: flowalg move games:STANDINGS checkpoint scores=/data/scores --to spark --into checkpoint-on-spark
    """
    move_query(pipeline, checkpoint, inputs, to, into, shards)


def timeline_options(
    processing_time: str | None,
    watermark: str | None,
    every: str | None,
    unbounded: bool,
    replay: Path | None,
    source_watermark: str | None,
    *,
    dead_letters: bool = False,
) -> TimelineOptions:
    """Returns the options that make timelines of files; the default watermark policy is ``Perfect``."""
    if replay is not None:
        reject_options(
            "--replay",
            processing_time=processing_time,
            watermark=watermark,
            source_watermark=source_watermark,
            every=every,
            unbounded=unbounded or None,
        )
    policy = Perfect() if watermark is None else parse_policy(watermark, "--watermark")
    interval = None if every is None else parse_duration(every, "--every")
    return TimelineOptions(
        processing_time=processing_time,
        watermark=policy,
        every=interval,
        ends=not unbounded,
        replay=replay,
        source_watermark=source_watermark,
        dead_letters=dead_letters,
    )


def reject_options(mode: str, **options: object) -> None:
    """Raises ``ArgumentError`` if an option was given that has no effect in this mode."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"--{name.replace('_', '-')}", str(value), f"omitted with {mode}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0, 1 for a difference, 2 for an error, or ``UNREAD``."""
    escape_what_has_no_code()
    output = sys.stdout
    return finish(output, _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(None if arguments is None else list(arguments))
    except UnsupportedError as error:
        for part in error.parts:
            print_error(str(part))
        return 2
    except FlowalgError as error:
        print_error(str(error))
        return 2
    except OSError as error:  # a file that cannot be read or written
        print_error(str(error))
        return 2
    except Exception as error:
        failure = describe_failure(error)
        if failure is None:
            raise
        print_error(failure)
        return 2
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            return UNREAD
        if isinstance(ended.code, str):
            print_error(ended.code)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0
