"""The pages of the API reference: the exports of each package, by topic, for Sphinx.

They are written when the site is built and are not committed, since they contain only directives.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import isclass, isfunction, ismodule
from pathlib import Path
from typing import Final, get_args

from attrs import frozen
from sphinx.pycode import ModuleAnalyzer

import flowalg
from flowalg.triggers import Trigger


@frozen
class Page:
    """A page: a title, a sentence, and for each heading a package and its names."""

    title: str
    about: str
    sections: Mapping[str, tuple[str, Sequence[str]]]


LONGEST: Final = 100
"""The maximum length of a constant's value to show."""

FLOWALG: Final = {
    "Pipelines": (
        "flowalg.pipeline",
        "Source sources PCollection PTransform ptransform SideInput flatten Failed",
    ),
    "Operations as values": (
        "flowalg.transforms",
        "Input Map Filter Collect TryMap FlatMap KeyBy MapValues WithTimestamps Split Only Partition WindowInto "
        "CombinePerKey CombineGlobally GroupByKey Distinct Top PerKey InnerJoin LeftJoin FullJoin SemiJoin AntiJoin "
        "Except CoGroupByKey Flatten MapWith FlatMapWith FilterWith WithSide WithSingleton WithMap WithEventTime "
        "WithWindow WithPane Process process_inputs Inputs FromInput Deduplicate Every Swap Copy FanOut First Second",
    ),
    "Windows, accumulation and lateness": (
        "flowalg.windows",
        "Window GLOBAL_WINDOW WindowFn GlobalWindows FixedWindows SlidingWindows Sessions CalendarDays CalendarWeeks "
        "CalendarMonths CustomWindows MergedWindow WindowsByValue WindowingStrategy Accumulation AllowedLateness "
        "FOREVER OnTimeBehavior TimestampCombiner",
    ),
    "Triggers": (
        "flowalg.triggers",
        f"Trigger OnceTrigger {' '.join(cls.__name__ for cls in get_args(Trigger))} RepeatUntil EVERY_INSTANT "
        "TriggerClocks Arrivals normalise describe",
    ),
    "Combiners": (
        "flowalg.combiners",
        "Aggregate Sum Count Mean Min Max Variance Quantile Quantiles ApproximateDistinct ToList ToSet TopN AnyOf "
        "AllOf combiner reduce_combiner together Combiner Group",
    ),
    "Computations": (
        "flowalg.computations",
        "Computation Processor Transition Observed Clocks Timer EventTimer ProcessingTimer Late KeyContents "
        "WaitingElement",
    ),
    "Watermarks": (
        "flowalg.watermarks",
        "WatermarkPolicy Perfect BoundedOutOfOrderness MonotonicTimestamps Timeout ProcessingTimeLag LagQuantile "
        "FittedLag LagDistribution IngressTime CustomPolicy ClockView ClockSummary Observation Publication SourceClock",
    ),
    "Times and pairs": (
        "flowalg.data",
        "EventTime ProcessingTime MIN_TIME MAX_TIME INGRESS_TIME event_time processing_time KV one_of tagged stored",
    ),
    "Evolution": ("flowalg.evolution", "RenamedFrom evolves"),
    "Timelines, panes and runs": (
        "flowalg.runs",
        "Timeline Instant Signal Run Output Outputs Pane PaneInfo PaneTiming WindowBounds Timing Change OutputElement "
        "Drop DroppedElement DropReason BadRecord final_values WindowedValue QueryEvent QueryStarted QueryAdvanced "
        "QueryEnded QueryProgress StageMetrics SourceMetrics Observer",
    ),
    "Interpreters": ("flowalg.interpreters", "Interpreter load_interpreter Capabilities Mode"),
    "Inspection": ("flowalg.analysis", "explain hazards Hazard Danger"),
    "Notebooks": ("flowalg.notebook", "PaneTable"),
    "Serialization": (
        "flowalg.serialization",
        "to_json from_json TRIGGER ONCE_TRIGGER WINDOWS COMBINER WATERMARK_POLICY",
    ),
    "Errors": (
        "flowalg.errors",
        "FlowalgError ArgumentError CheckpointError DocumentError ElementError KeyedCollectionError MissingExtraError "
        "NotWritableError RecordTypeError SchemaMismatchError UnboundSourceError UnsupportedError UserFunctionError "
        "ValueRangeError",
    ),
}
"""The rooms of flowalg with their public names; those of ``interpreters`` for engines are on the page of these."""

NODES: Final = (
    "Node SourceNode ElementWise WindowInto WithMetadata CombinePerKey CoGroupByKey Flatten WithSide Process Hole "
    "JoinKind View Singleton AsMap LatestComplete"
)

ENGINE: Final = (
    "Feature AnyFeature features_of AnySource timelines_by_name as_batch Element read_records results_of "
    "pair_with_metadata tag_elements at_any_time assign_windows merged_windows as_merging Fold fold_all output_of "
    "run_of sort_panes sort_key interpreter_names"
)

REFERENCE: Final = (
    "Reference ReferenceBatch run run_batch ReferenceRun WatermarkReading RunSpec explain_when "
    "Explanation Cause OutputExplanation ArrivedElement SetTimer why_not WhyNot Reason Condition AwaitedCondition "
    "WatermarkHold KeyExplanation KeyStatus CAPABILITIES"
)

SPARK: Final = (
    "SparkBatch SparkStreaming StreamInput PaneFrame LiftingNote local_session configure collect "
    "collect_elements collect_drops collect_bad_records final_values "
    "select_output open_state open_keys reshard plan ChangePlan StageFinding Outcome check_checkpoint metrics "
    "StageMetrics stage_metrics query_progress bad_records listener "
    "replay ReplayedBatch ReplayedBatches ReplayInput "
    "replay_log ReplayLog read_files read_table schema_of stream_files arrow_schema_of "
    "pane_table record_table records_in batch streaming sinks "
    "snapshot_input read_query write_query StoredQuery"
)

LAWS: Final = {
    "Checks": "check_combiner check_computation check_window_fn check_trigger check_watermark_policy check_law "
    "check_interpreter find_difference Difference NoDifference",
    "Laws": "Law law Equation Equality CATALOGUE TRIGGER_LAWS LATTICE_LAWS COMPOSITION_LAWS WINDOW_LAWS SIZE_LAWS "
    "PANE_LAWS COMBINER_LAWS COLLECTION_LAWS WATERMARK_LAWS CLOCK_LAWS TRANSFORM_LAWS LOOP_LAWS SERIALIZATION_LAWS "
    "CHAIN_LAWS COMPUTATION_LAWS",
    "Strategies": "triggers once_triggers window_fns windowing_strategies combiners computations watermark_policies "
    "readings timelines free_timelines partitioned_timelines histories scenarios pipelines",
    "Their values": "Reading READINGS VALUES History Scenario observe apply_windowing",
}

PAGES: Final = {
    "flowalg": Page(
        "Reference: flowalg",
        f"The algebra: pipelines as values. `flowalg` itself has what most pipelines need: "
        f"{', '.join(f'`{name}`' for name in flowalg.__all__)}. Each name is also in its room, with those that fewer "
        "pipelines need. The examples use the [names at the end](#names-of-the-examples).",
        {heading: (room, names.split()) for heading, (room, names) in FLOWALG.items()},
    ),
    "interpreters": Page(
        "Reference: interpreters",
        "The reference interpreter, Spark batch, and Spark streaming. The examples use these "
        "[names](flowalg.md#names-of-the-examples).",
        {
            "The reference": (
                "flowalg_reference",
                REFERENCE.split(),
            ),
            "Spark": (
                "flowalg_spark",
                SPARK.split(),
            ),
            "Spark batch": ("flowalg_spark.batch", ()),
            "Spark streaming": (
                "flowalg_spark.streaming",
                ("CAPABILITIES", "StreamOptions", "check", "compile", "drain"),
            ),
            "Sinks of Spark": (
                "flowalg_spark.sinks",
                (
                    "BatchSink",
                    "Changelog",
                    "LateData",
                    "Route",
                    "Upsert",
                    "changelog",
                    "late_data",
                    "route",
                    "upsert",
                ),
            ),
            "Delta and Iceberg": (
                "flowalg_spark.sinks",
                ("Delta", "Iceberg", "Lakehouse", "LakehouseChangelog", "LakehouseUpsert", "TableState"),
            ),
            "The local engine": ("flowalg_polars", ()),
            "Local batch": ("flowalg_polars.batch", ()),
            "Local streaming": ("flowalg_polars.streaming", ()),
            "Sinks": ("flowalg_sinks", ()),
            "Kafka": ("flowalg_kafka", ()),
            "Tables of a database": ("flowalg_snapshots", ()),
            "Plans": ("flowalg.plan", ()),
            "Nodes of a pipeline": ("flowalg.pipeline", NODES.split()),
            "Parts of an engine": ("flowalg.interpreters", ENGINE.split()),
        },
    ),
    "laws": Page(
        "Reference: flowalg_laws",
        "Laws, strategies that generate their values, and checks for user-defined parts.",
        {heading: ("flowalg_laws", names.split()) for heading, names in LAWS.items()},
    ),
    "tools": Page(
        "Reference: flowalg_tools",
        "Tools for people who inspect pipelines and runs.",
        {
            "Pictures": ("flowalg_tools.pictures", ()),
            "What-if analysis": ("flowalg_tools.what_if", ()),
            "Live view": ("flowalg_tools.live", ("show", "table_of", "watch")),
            "Monitoring": ("flowalg_tools.monitoring", ()),
            "Monitoring with Prometheus": (
                "flowalg_tools.monitoring.prometheus",
                ("CONTENT_TYPE", "families", "prometheus_text", "register"),
            ),
            "Monitoring with OpenTelemetry": ("flowalg_tools.monitoring.open_telemetry", ("instrument",)),
        },
    ),
}


def _definitions() -> str:
    """Returns the code of ``docs/examples/api_examples.py`` after its docstring, with all names of the rooms."""
    path = Path(__file__).parents[1] / "examples" / "api_examples.py"
    code = path.read_text(encoding="utf-8").partition('"""\n\n')[2]
    others = re.sub(r"^from flowalg\..*\n", "", code, flags=re.MULTILINE)
    rooms = "\n".join(f"from {room} import *" for room, _ in FLOWALG.values())
    return re.sub(r"^from flowalg import .*$", rooms, others, flags=re.MULTILINE)


def names_of(package: str, names: Sequence[str]) -> Sequence[str]:
    """The names of a heading; by default all exports of the package."""
    return names or [str(name) for name in importlib.import_module(package).__all__]


def missing() -> list[str]:
    """The exports that are on no page, under any name; a test requires that there are none."""
    shown = {
        id(getattr(importlib.import_module(package), name))
        for page in PAGES.values()
        for package, names in page.sections.values()
        for name in names_of(package, names)
    }
    return [
        f"{package}.{name}"
        for package in sorted({package for page in PAGES.values() for package, _ in page.sections.values()})
        for name in getattr(importlib.import_module(package), "__all__", ())
        if id(getattr(importlib.import_module(package), name)) not in shown
    ]


def page_text(page: Page) -> str:
    """Returns a page in MyST Markdown."""
    parts = [f"# {page.title}\n", f"{page.about}\n"]
    for heading, (package, names) in page.sections.items():
        module = importlib.import_module(package)
        parts.append(f"## {heading}\n")
        for name in names_of(package, names):
            value: object = getattr(module, name)
            if not ismodule(value):
                parts.append(f"```{{eval-rst}}\n{_directive(package, name, value)}\n```\n")
    if page is PAGES["flowalg"]:
        parts.append(f"## Names of the examples\n\n```python\n{_definitions()}```\n")
    return "\n".join(parts)


def write(folder: Path) -> None:
    """Writes all pages; an unchanged page keeps its modification time, so that it is not rebuilt."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page_text(page)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _directive(package: str, name: str, value: object) -> str:
    if isclass(value):
        bases = "\n   :show-inheritance:" if issubclass(value, Exception) else ""
        again = "" if _first_places()[id(value)] == (package, name) else "\n   :no-index:"
        return f".. autoclass:: {package}.{name}\n   :members:{bases}{again}"
    if isfunction(value):
        return f".. autofunction:: {package}.{name}"
    return _data(package, name)


@cache
def _first_places() -> dict[int, tuple[str, str]]:
    """The package and the name under which a page first shows each object: two packages export some classes."""
    places: dict[int, tuple[str, str]] = {}
    for page in PAGES.values():
        for package, names in page.sections.values():
            for name in names_of(package, names):
                places.setdefault(id(getattr(importlib.import_module(package), name)), (package, name))
    return places


def _data(package: str, name: str) -> str:
    """The directive of a constant or a type alias, with the docstring of its assignment."""
    home = _home(package, name)
    documented = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", name), [])
    lines = [f".. py:data:: {package}.{name}"]
    expression = _assigned_expression(home, name)
    if expression is not None and len(expression) < LONGEST and (not documented or " | " in expression):
        lines.append(f"   :value: {expression}")
    return "\n".join([*lines, "", *(f"   {line}" for line in documented)]).rstrip()


def _home(package: str, name: str) -> str:
    """The module that defines an exported name."""
    for statement in _tree(package).body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return _home(statement.module, alias.name)
    return package


def _assigned_expression(module: str, name: str) -> str | None:
    """The source text of the expression that a module assigns to a name."""
    for statement in _tree(module).body:
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
            return None if value is None else ast.unparse(value)
    return None


def _tree(module: str) -> ast.Module:
    path = importlib.import_module(module).__file__
    assert path is not None
    return ast.parse(Path(path).read_text(encoding="utf-8"))
