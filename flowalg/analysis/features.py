"""The features that a pipeline needs of an interpreter: classes, members of enumerations, and what is neither.

An interpreter declares the features that it lacks (``Capabilities``); the conformance suite has a job for each. The
features are a closed list, which follows from the unions of the algebra: a class in one of them is a feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, unique
from typing import Final, TypeAlias, assert_never, get_args

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import AnyCombiner, Count, Into, Max, Mean, Min, Over, Sum, Together
from flowalg.combiners.distinct import ApproximateDistinct
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.combiners.statistics import Variance
from flowalg.data.metadata import Metadata
from flowalg.data.shapes import Shape, contains_sum
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingKind,
    GroupingNode,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.side_inputs import AsMap, LatestComplete, Singleton, View
from flowalg.pipeline.structure import last_groupings, sources_of
from flowalg.triggers.syntax import AtWatermark, SequenceOf, Trigger, parts_of
from flowalg.watermarks import (
    BoundedOutOfOrderness,
    FittedLag,
    IngressTime,
    LagQuantile,
    MonotonicTimestamps,
    Perfect,
    ProcessingTimeLag,
    Timeout,
    WatermarkPolicy,
)
from flowalg.windows.strategy import (
    FOREVER,
    Accumulation,
    OnTimeBehavior,
    TimestampCombiner,
    WindowingStrategy,
)
from flowalg.windows.window_functions import (
    CustomWindows,
    GlobalWindows,
    WindowFn,
    are_by_key,
)


@unique
class Area(Enum):
    """The subject of a feature. Features with ``in_batch`` also matter to a batch (one pane for each window)."""

    RUNS = ("Ways to run", False)
    OUTPUTS = ("Outputs", True)
    WINDOWS = ("Windows", True)
    TRIGGERS = ("Triggers", False)
    REFINEMENTS = ("Accumulation, lateness and on-time panes", False)
    PANE_TIMES = ("The event time of panes", True)
    TRANSFORMS = ("Transforms", True)
    COMBINERS = ("Combiners", True)
    WATERMARKS = ("Watermarks", False)

    def __init__(self, title: str, in_batch: bool) -> None:
        self.title = title
        self.in_batch = in_batch


@unique
class Feature(Enum):
    """A feature that is neither a class nor a member of another enumeration, with its name in tables and messages.

    An option of a class that is a feature has it in place of the class.
    """

    STREAMING = (Area.RUNS, "streaming")

    ELEMENT_OUTPUTS = (Area.OUTPUTS, "pipelines that group nothing")
    SEVERAL_OUTPUTS = (Area.OUTPUTS, "several outputs of one run")
    DEAD_LETTERS = (Area.OUTPUTS, "bad records as data (`dead_letters=True`)")

    WINDOWS_BY_KEY = (
        Area.WINDOWS,
        "`FixedWindows` with an offset by key, calendar windows with a zone by key",
    )
    CUSTOM_MERGING_WINDOWS = (Area.WINDOWS, "`CustomWindows` that merge")

    AT_PERCENTILE = (Area.TRIGGERS, "`AtWatermark(percentile=q)`")
    SIGNALS_TO_KEYS = (Area.TRIGGERS, "`Signal`, a signal to one key or window")

    LIMITED_LATENESS = (Area.REFINEMENTS, "a limited allowed lateness, and drops")
    UNSET_LATENESS = (Area.REFINEMENTS, "finite windows with an unset allowed lateness")

    INGRESS_TIMES = (Area.TRANSFORMS, "event times of arrival, `INGRESS_TIME`")
    REGROUPING = (Area.TRANSFORMS, "several groupings in a row")
    SEVERAL_SOURCES = (Area.TRANSFORMS, "several sources")
    SUMS = (Area.TRANSFORMS, "elements of several types, sums")

    CUSTOM_COMBINERS = (Area.COMBINERS, "user-defined combiners")

    CUSTOM_POLICY = (Area.WATERMARKS, "user-defined policies")
    PUBLISHED = (Area.WATERMARKS, "`Perfect` from a source that publishes its watermark")
    IDLE_AFTER = (Area.WATERMARKS, "`idle_after`")
    MAX_AHEAD = (Area.WATERMARKS, "`max_ahead`")
    PERCENTILES = (Area.WATERMARKS, "`percentiles`")
    LAG_PERCENTILES = (Area.WATERMARKS, "`lag_percentiles`")
    PARTITIONS = (Area.WATERMARKS, "partitions of a source")
    DECLARED_PARTITIONS = (Area.WATERMARKS, "declared `partitions`")

    def __init__(self, area: Area, description: str) -> None:
        self.area = area
        self.description = description


AnyFeature: TypeAlias = type | Enum
"""A feature: a class, such as ``Sessions``, a member, such as ``Accumulation.RETRACTING``, or a ``Feature``."""


_COMBINERS: Final[tuple[type, ...]] = (
    *(Sum, Count, Mean, Min, Max, Together, ToList, ToSet, TopN, AnyOf, AllOf),
    *(Variance, Quantile, Quantiles, ApproximateDistinct),
)
"""The built-in combiners."""
_POLICIES: Final[tuple[type, ...]] = (
    *(BoundedOutOfOrderness, Perfect, MonotonicTimestamps, Timeout),
    *(ProcessingTimeLag, LagQuantile, FittedLag, IngressTime),
)
"""The built-in policies."""

_SELECTIONS: Final = tuple(kind for kind in JoinKind if kind.selects)
"""The joins that are a feature besides ``JoinKind``, which all joins need."""

_OF_AREA: Final[Mapping[Area, tuple[AnyFeature, ...]]] = {
    Area.WINDOWS: get_args(WindowFn),
    Area.TRIGGERS: get_args(Trigger),
    Area.REFINEMENTS: (*Accumulation, FOREVER, OnTimeBehavior.ALWAYS),
    Area.PANE_TIMES: (TimestampCombiner.EARLIEST, TimestampCombiner.LATEST),
    Area.TRANSFORMS: (
        *(*get_args(Step), *Metadata, GroupingKind.COMBINE_GLOBALLY, GroupingKind.DISTINCT),
        *(Flatten, CoGroupByKey, JoinKind, *_SELECTIONS, *get_args(View), Process),
    ),
    Area.COMBINERS: _COMBINERS,
    Area.WATERMARKS: _POLICIES,
}
AREA_OF: Final[Mapping[AnyFeature, Area]] = {
    **{feature: area for area in Area for feature in _OF_AREA.get(area, ())},
    **{feature: feature.area for feature in Feature},
}
"""All features, each with its area: in each area the classes and members, and then the others."""

_PHRASES: Final[Mapping[AnyFeature, str]] = {
    SequenceOf: "`SequenceOf`, early and late firings",
    **{mode: f"{mode.name.lower()} panes" for mode in Accumulation},
    FOREVER: "an allowed lateness of `FOREVER`",
    OnTimeBehavior.ALWAYS: "an on-time pane for every window",
    TimestampCombiner.EARLIEST: "panes at their earliest event time",
    TimestampCombiner.LATEST: "panes at their latest event time",
    Map: "`map`, `key_by`, `map_values`, `split`, `collect`, `try_map`",
    Filter: "`filter`",
    FlatMap: "`flat_map`",
    WithTimestamps: "`with_timestamps`",
    **{metadata: f"`with_{metadata.name.lower()}`" for metadata in Metadata},
    GroupingKind.COMBINE_GLOBALLY: "`combine_globally`, `top`",
    GroupingKind.DISTINCT: "`distinct`",
    Flatten: "`flatten`",
    CoGroupByKey: "`co_group_by_key`",
    JoinKind: ", ".join(f"`{kind.value}`" for kind in JoinKind if not kind.selects),
    **{kind: f"`{kind.value}`" for kind in _SELECTIONS},
    Singleton: "side inputs, `as_singleton`",
    AsMap: "side inputs, `as_map`",
    LatestComplete: "side inputs that change slowly, `latest_complete`",
    Process: "`process`: computations with state and timers",
    Together: "several combiners at once",
    ToList: "`ToList`, `group_by_key`",
    Perfect: "`Perfect` from recorded data",
}


def describe_feature(feature: AnyFeature) -> str:
    """Returns the name of a feature in tables and messages: that of the class, unless there is a better phrase."""
    if isinstance(feature, Feature):
        return feature.description
    return _PHRASES.get(feature) or f"`{feature.__name__ if isinstance(feature, type) else feature}`"


def features_of(pipeline: PCollection[object]) -> frozenset[AnyFeature]:
    """Returns the features that a pipeline uses. The watermark policies of its sources are not part of it."""
    nodes = tuple(nodes_of(resolve_accumulation(pipeline.node)))
    features = {feature for node in nodes for feature in _of_node(node)}
    grouped = [inner for node in nodes if isinstance(node, GroupingNode) for inner in node.inputs]
    if any(map(last_groupings, grouped)):
        features.add(Feature.REGROUPING)
    if len(sources_of(pipeline.node)) > 1:
        features.add(Feature.SEVERAL_SOURCES)
    if any(shape is not None and contains_sum(shape) for node in nodes for shape in _shapes_of(node)):
        features.add(Feature.SUMS)
    if not last_groupings(pipeline.node):
        features.add(Feature.ELEMENT_OUTPUTS)
    return frozenset(features & AREA_OF.keys())


def _shapes_of(node: Node) -> Iterable[Shape | None]:
    """Returns the shapes of a node's elements, for a chain those after each step."""
    return [analysis.after for analysis in node.analyses] if isinstance(node, ElementWise) else [node.shape]


def _of_node(node: Node) -> Iterator[AnyFeature]:
    match node:
        case SourceNode(event_time=None):
            yield Feature.INGRESS_TIMES
        case ElementWise(own_steps=steps):
            yield from map(type, steps)
        case WithMetadata(metadata=metadata):
            yield metadata
        case CombinePerKey(combiner=combiner, kind=kind):
            yield from features_of_strategy(node.windowed_by.strategy)
            yield from features_of_combiner(combiner)
            yield kind
        case CoGroupByKey(join=join):
            yield from features_of_strategy(node.windowed_by.strategy)
            yield CoGroupByKey if join is None else JoinKind
            if join in _SELECTIONS:
                yield join
        case WithSide(view=view):
            yield from _of_view(view)
        case Flatten() | Process():
            yield type(node)
        case SourceNode() | Hole() | WindowInto():
            # Windows that are never grouped need no feature.
            pass
        case _:
            assert_never(node)


def _of_view(view: View) -> Iterator[AnyFeature]:
    yield type(view)
    if isinstance(view, LatestComplete):
        yield from _of_view(view.view)


def features_of_strategy(strategy: WindowingStrategy) -> frozenset[AnyFeature]:
    """Returns the features that a windowing strategy uses."""
    features: set[AnyFeature] = {
        _of_windows(strategy.windows),
        *_of_trigger(strategy.trigger),
        strategy.mode,
        strategy.on_time_behavior,
        strategy.timestamp_combiner,
    }
    match strategy.allowed_lateness:
        case None if isinstance(strategy.windows, GlobalWindows):
            pass
        case None:
            features.add(Feature.UNSET_LATENESS)
        case lateness:
            features.add(FOREVER if lateness is FOREVER else Feature.LIMITED_LATENESS)
    return frozenset(features & AREA_OF.keys())


def _of_windows(windows: WindowFn) -> AnyFeature:
    match windows:
        case _ if are_by_key(windows):
            return Feature.WINDOWS_BY_KEY
        case CustomWindows(merge_with=merge) if merge is not None:
            return Feature.CUSTOM_MERGING_WINDOWS
        case _:
            return _listed(type(windows))


def _of_trigger(trigger: Trigger) -> Iterator[AnyFeature]:
    if isinstance(trigger, AtWatermark) and trigger.percentile is not None:
        yield Feature.AT_PERCENTILE
    else:
        yield _listed(type(trigger))
    for part in parts_of(trigger):
        yield from _of_trigger(part)


def _listed(cls: type) -> type:
    """Returns the class of the algebra that a class is or extends."""
    return next(base for base in cls.__mro__ if base in AREA_OF)


def features_of_combiner(combiner: AnyCombiner) -> frozenset[AnyFeature]:
    """Returns the features that a combiner uses; a class that is not built in counts as user-defined."""
    match combiner:
        case Over(combiner=inner) | Into(combiner=inner):
            return features_of_combiner(inner)
        case Together(parts=parts):
            return frozenset((Together,)).union(*map(features_of_combiner, parts))
        case _:
            return frozenset((type(combiner) if type(combiner) in _COMBINERS else Feature.CUSTOM_COMBINERS,))


def features_of_policy(policy: WatermarkPolicy, *, publishes: bool = False) -> frozenset[AnyFeature]:
    """Returns the features that a watermark policy uses, with its options, of a source that ``publishes`` or not."""
    options = {
        Feature.IDLE_AFTER: policy.idle_after is not None,
        Feature.MAX_AHEAD: policy.max_ahead is not None,
        Feature.PERCENTILES: bool(policy.percentiles),
        Feature.LAG_PERCENTILES: bool(policy.lag_percentiles),
        Feature.DECLARED_PARTITIONS: bool(policy.partitions),
    }
    kind: AnyFeature = type(policy) if type(policy) in _POLICIES else Feature.CUSTOM_POLICY
    if kind is Perfect and publishes:
        kind = Feature.PUBLISHED
    return frozenset((kind, *(option for option, used in options.items() if used)))
