"""The features that a pipeline needs of an interpreter: a closed list, derived from its nodes.

An interpreter declares the features that it lacks (``Capabilities``); the conformance suite has a job for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, unique
from typing import Final, assert_never

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import Combiner, Count, Into, Max, Mean, Min, Over, Sum, Together
from flowalg.combiners.distinct import ApproximateDistinct
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.combiners.statistics import Variance
from flowalg.data.metadata import Metadata
from flowalg.elementwise.functions import Call
from flowalg.elementwise.splitting import Selected
from flowalg.elementwise.steps import Filter, FlatMap, Map, Split, Step, WithTimestamps
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
from flowalg.triggers.syntax import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtValue,
    AtWatermark,
    CustomTrigger,
    Never,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
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
from flowalg.windows.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.strategy import (
    FOREVER,
    Accumulation,
    OnTimeBehavior,
    TimestampCombiner,
    WindowingStrategy,
)
from flowalg.windows.window_functions import (
    CustomWindows,
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    WindowFn,
    WindowsByValue,
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
    """A feature that an interpreter can lack. ``description`` is its name in tables and messages."""

    STREAMING = (Area.RUNS, "streaming")

    ELEMENT_OUTPUTS = (Area.OUTPUTS, "pipelines that group nothing")
    SEVERAL_OUTPUTS = (Area.OUTPUTS, "several outputs of one run")
    DEAD_LETTERS = (Area.OUTPUTS, "bad records as data (`dead_letters=True`)")

    GLOBAL_WINDOWS = (Area.WINDOWS, "the global window")
    FIXED_WINDOWS = (Area.WINDOWS, "fixed windows")
    WINDOWS_BY_KEY = (Area.WINDOWS, "fixed windows with an offset by key")
    SLIDING_WINDOWS = (Area.WINDOWS, "sliding windows")
    SESSIONS = (Area.WINDOWS, "sessions")
    CALENDAR_WINDOWS = (Area.WINDOWS, "calendar days, weeks and months")
    CUSTOM_WINDOWS = (Area.WINDOWS, "user-defined windows")
    CUSTOM_MERGING_WINDOWS = (Area.WINDOWS, "user-defined merging windows")
    WINDOWS_BY_VALUE = (Area.WINDOWS, "user-defined windows by value")

    AT_WATERMARK = (Area.TRIGGERS, "`AtWatermark()`")
    AT_PERCENTILE = (Area.TRIGGERS, "`AtWatermark(percentile=q)`")
    AT_COUNT = (Area.TRIGGERS, "`AtCount`")
    AT_MEASURE = (Area.TRIGGERS, "`AtMeasure`")
    AT_ELEMENT = (Area.TRIGGERS, "`AtElement`")
    AT_PERIOD = (Area.TRIGGERS, "`AtPeriod`")
    AFTER_DELAY = (Area.TRIGGERS, "`AfterDelay`")
    AFTER_INACTIVITY = (Area.TRIGGERS, "`AfterInactivity`")
    AT_VALUE = (Area.TRIGGERS, "`AtValue`")
    CUSTOM_TRIGGER = (Area.TRIGGERS, "`CustomTrigger`")
    AT_SIGNAL = (Area.TRIGGERS, "`AtSignal`")
    SIGNALS_TO_KEYS = (Area.TRIGGERS, "`Signal`, a signal to one key or window")
    NEVER = (Area.TRIGGERS, "`Never`")
    ALWAYS = (Area.TRIGGERS, "`Always`")
    AND = (Area.TRIGGERS, "`And`")
    OR = (Area.TRIGGERS, "`Or`")
    SEQUENCE_OF = (Area.TRIGGERS, "`SequenceOf`, early and late firings")
    REPEAT = (Area.TRIGGERS, "`Repeat`")
    OR_FINALLY = (Area.TRIGGERS, "`OrFinally`")

    ACCUMULATING = (Area.REFINEMENTS, "accumulating panes")
    DISCARDING = (Area.REFINEMENTS, "discarding panes")
    RETRACTING = (Area.REFINEMENTS, "retracting panes")
    LIMITED_LATENESS = (Area.REFINEMENTS, "a limited allowed lateness, and drops")
    LATENESS_FOREVER = (Area.REFINEMENTS, "an allowed lateness of `FOREVER`")
    UNSET_LATENESS = (Area.REFINEMENTS, "finite windows with an unset allowed lateness")
    ALWAYS_ON_TIME = (Area.REFINEMENTS, "an on-time pane for every window")

    EARLIEST_TIME = (Area.PANE_TIMES, "panes at their earliest event time")
    LATEST_TIME = (Area.PANE_TIMES, "panes at their latest event time")

    ELEMENT_WISE = (Area.TRANSFORMS, "`map`, `filter`, `key_by`, `map_values`")
    FLAT_MAP = (Area.TRANSFORMS, "`flat_map`")
    SPLIT = (Area.TRANSFORMS, "`split`")
    INGRESS_TIMES = (Area.TRANSFORMS, "event times of arrival, `INGRESS_TIME`")
    WITH_TIMESTAMPS = (Area.TRANSFORMS, "`with_timestamps`")
    WITH_TIMESTAMP = (Area.TRANSFORMS, "`with_timestamp`")
    WITH_WINDOW = (Area.TRANSFORMS, "`with_window`")
    WITH_PANE = (Area.TRANSFORMS, "`with_pane`")
    GLOBALLY = (Area.TRANSFORMS, "`combine_globally`, `top`")
    DISTINCT = (Area.TRANSFORMS, "`distinct`")
    REGROUPING = (Area.TRANSFORMS, "several groupings in a row")
    FLATTEN = (Area.TRANSFORMS, "`flatten`")
    CO_GROUP = (Area.TRANSFORMS, "`co_group_by_key`")
    JOIN = (Area.TRANSFORMS, "`inner_join`, `left_join`, `full_join`")
    SIDE_SINGLETON = (Area.TRANSFORMS, "side inputs, `as_singleton`")
    SIDE_MAP = (Area.TRANSFORMS, "side inputs, `as_map`")
    SIDE_LATEST = (Area.TRANSFORMS, "side inputs that change slowly, `latest_complete`")
    COMPUTATIONS = (Area.TRANSFORMS, "`process`: computations with state and timers")
    SEVERAL_SOURCES = (Area.TRANSFORMS, "several sources")

    SUM = (Area.COMBINERS, "`Sum`")
    COUNT = (Area.COMBINERS, "`Count`")
    MEAN = (Area.COMBINERS, "`Mean`")
    MIN = (Area.COMBINERS, "`Min`")
    MAX = (Area.COMBINERS, "`Max`")
    TOGETHER = (Area.COMBINERS, "several combiners at once")
    TO_LIST = (Area.COMBINERS, "`ToList`, `group_by_key`")
    TO_SET = (Area.COMBINERS, "`ToSet`")
    TOP_N = (Area.COMBINERS, "`TopN`")
    ANY_AND_ALL = (Area.COMBINERS, "`AnyOf`, `AllOf`")
    VARIANCE = (Area.COMBINERS, "`Variance`")
    QUANTILES = (Area.COMBINERS, "`Quantile`, `Quantiles`")
    APPROXIMATE_DISTINCT = (Area.COMBINERS, "`ApproximateDistinct`")
    CUSTOM_COMBINERS = (Area.COMBINERS, "user-defined combiners")

    BOUNDED_OUT_OF_ORDERNESS = (Area.WATERMARKS, "`BoundedOutOfOrderness`")
    PERFECT = (Area.WATERMARKS, "`Perfect` from recorded data")
    PUBLISHED = (Area.WATERMARKS, "`Perfect` from a source that publishes its watermark")
    MONOTONIC_TIMESTAMPS = (Area.WATERMARKS, "`MonotonicTimestamps`")
    TIMEOUT = (Area.WATERMARKS, "`Timeout`")
    PROCESSING_TIME_LAG = (Area.WATERMARKS, "`ProcessingTimeLag`")
    LAG_QUANTILE = (Area.WATERMARKS, "`LagQuantile`")
    FITTED_LAG = (Area.WATERMARKS, "`FittedLag`")
    INGRESS_TIME = (Area.WATERMARKS, "`IngressTime`")
    CUSTOM_POLICY = (Area.WATERMARKS, "user-defined policies")
    IDLE_AFTER = (Area.WATERMARKS, "`idle_after`")
    MAX_AHEAD = (Area.WATERMARKS, "`max_ahead`")
    PERCENTILES = (Area.WATERMARKS, "`percentiles`")
    LAG_PERCENTILES = (Area.WATERMARKS, "`lag_percentiles`")
    PARTITIONS = (Area.WATERMARKS, "partitions of a source")
    DECLARED_PARTITIONS = (Area.WATERMARKS, "declared `partitions`")

    def __init__(self, area: Area, description: str) -> None:
        self.area = area
        self.description = description

    @property
    def in_batch(self) -> bool:
        """Whether the feature matters to a batch."""
        return self.area.in_batch


def features_in(*areas: Area) -> frozenset[Feature]:
    """Returns the features of some areas."""
    return frozenset(feature for feature in Feature if feature.area in areas)


def features_of(pipeline: PCollection[object]) -> frozenset[Feature]:
    """Returns the features that a pipeline uses. The watermark policies of its sources are not part of it."""
    nodes = tuple(nodes_of(resolve_accumulation(pipeline.node)))
    found = {feature for node in nodes for feature in _of_node(node)}
    grouped = [inner for node in nodes if isinstance(node, GroupingNode) for inner in node.inputs]
    if any(map(last_groupings, grouped)):
        found.add(Feature.REGROUPING)
    if len(sources_of(pipeline.node)) > 1:
        found.add(Feature.SEVERAL_SOURCES)
    if not last_groupings(pipeline.node):
        found.add(Feature.ELEMENT_OUTPUTS)
    return frozenset(found)


def _of_node(node: Node) -> Iterator[Feature]:
    match node:
        case SourceNode(event_time=None):
            yield Feature.INGRESS_TIMES
        case SourceNode() | Hole():
            pass
        case ElementWise(input=CoGroupByKey(join=JoinKind()), steps=(_, *steps)) | ElementWise(steps=steps):
            yield from map(_of_step, steps)
        case WithMetadata(metadata=metadata):
            yield _METADATA[metadata]
        case WindowInto():
            # Windows that are never grouped need no feature.
            pass
        case CombinePerKey(combiner=combiner, kind=kind):
            yield from features_of_strategy(node.windowed_by.strategy)
            yield from features_of_combiner(combiner)
            yield from _KINDS[kind]
        case CoGroupByKey():
            yield from features_of_strategy(node.windowed_by.strategy)
            yield Feature.CO_GROUP if node.join is None else Feature.JOIN
        case Flatten():
            yield Feature.FLATTEN
        case WithSide(view=view):
            yield from _of_view(view)
        case Process():
            yield Feature.COMPUTATIONS
        case _:
            assert_never(node)


_METADATA: Final[Mapping[Metadata, Feature]] = {
    Metadata.TIMESTAMP: Feature.WITH_TIMESTAMP,
    Metadata.WINDOW: Feature.WITH_WINDOW,
    Metadata.PANE: Feature.WITH_PANE,
}

_KINDS: Final[Mapping[GroupingKind, tuple[Feature, ...]]] = {
    GroupingKind.COMBINE_PER_KEY: (),
    GroupingKind.COMBINE_GLOBALLY: (Feature.GLOBALLY,),
    GroupingKind.GROUP_BY_KEY: (),
    GroupingKind.DISTINCT: (Feature.DISTINCT,),
}


def _of_step(step: Step) -> Feature:
    match step:
        case Map() | Filter():
            return Feature.ELEMENT_WISE
        case Split() | FlatMap(function=Call(f=Selected())):
            return Feature.SPLIT
        case FlatMap():
            return Feature.FLAT_MAP
        case WithTimestamps():
            return Feature.WITH_TIMESTAMPS
    assert_never(step)


def _of_view(view: View) -> Iterator[Feature]:
    match view:
        case Singleton():
            yield Feature.SIDE_SINGLETON
        case AsMap():
            yield Feature.SIDE_MAP
        case LatestComplete(view=inner):
            yield Feature.SIDE_LATEST
            yield from _of_view(inner)
        case _:
            assert_never(view)


def features_of_strategy(strategy: WindowingStrategy) -> frozenset[Feature]:
    """Returns the features that a windowing strategy uses."""
    return frozenset(
        (
            _of_windows(strategy.windows),
            *_of_trigger(strategy.trigger),
            _MODES[strategy.mode],
            *_of_lateness(strategy),
            *((Feature.ALWAYS_ON_TIME,) if strategy.on_time_behavior is OnTimeBehavior.ALWAYS else ()),
            *_PANE_TIMES[strategy.timestamp_combiner],
        )
    )


_MODES = {
    Accumulation.ACCUMULATING: Feature.ACCUMULATING,
    Accumulation.DISCARDING: Feature.DISCARDING,
    Accumulation.RETRACTING: Feature.RETRACTING,
}
_PANE_TIMES: dict[TimestampCombiner, tuple[Feature, ...]] = {
    TimestampCombiner.END_OF_WINDOW: (),
    TimestampCombiner.EARLIEST: (Feature.EARLIEST_TIME,),
    TimestampCombiner.LATEST: (Feature.LATEST_TIME,),
}


def _of_lateness(strategy: WindowingStrategy) -> tuple[Feature, ...]:
    if strategy.allowed_lateness is None:
        return () if isinstance(strategy.windows, GlobalWindows) else (Feature.UNSET_LATENESS,)
    if strategy.allowed_lateness is FOREVER:
        return (Feature.LATENESS_FOREVER,)
    return (Feature.LIMITED_LATENESS,)


def _of_windows(windows: WindowFn) -> Feature:
    match windows:
        case GlobalWindows():
            return Feature.GLOBAL_WINDOWS
        case FixedWindows(offset_by_key=offset_by_key):
            return Feature.FIXED_WINDOWS if offset_by_key is None else Feature.WINDOWS_BY_KEY
        case SlidingWindows():
            return Feature.SLIDING_WINDOWS
        case Sessions():
            return Feature.SESSIONS
        case CalendarDays() | CalendarWeeks() | CalendarMonths():
            return Feature.CALENDAR_WINDOWS
        case CustomWindows(merge_with=merge):
            return Feature.CUSTOM_WINDOWS if merge is None else Feature.CUSTOM_MERGING_WINDOWS
        case WindowsByValue():
            return Feature.WINDOWS_BY_VALUE
    assert_never(windows)


def _of_trigger(trigger: Trigger) -> Iterator[Feature]:
    match trigger:
        case AtWatermark(percentile=percentile):
            yield Feature.AT_WATERMARK if percentile is None else Feature.AT_PERCENTILE
        case AtCount():
            yield Feature.AT_COUNT
        case AtMeasure():
            yield Feature.AT_MEASURE
        case AtElement():
            yield Feature.AT_ELEMENT
        case AtPeriod():
            yield Feature.AT_PERIOD
        case AfterDelay():
            yield Feature.AFTER_DELAY
        case AfterInactivity():
            yield Feature.AFTER_INACTIVITY
        case AtValue():
            yield Feature.AT_VALUE
        case CustomTrigger():
            yield Feature.CUSTOM_TRIGGER
        case AtSignal():
            yield Feature.AT_SIGNAL
        case Never():
            yield Feature.NEVER
        case Always():
            yield Feature.ALWAYS
        case And(triggers=parts):
            yield Feature.AND
            yield from _of_triggers(parts)
        case Or(triggers=parts):
            yield Feature.OR
            yield from _of_triggers(parts)
        case SequenceOf(triggers=members):
            yield Feature.SEQUENCE_OF
            yield from _of_triggers(members)
        case Repeat(trigger=inner):
            yield Feature.REPEAT
            yield from _of_trigger(inner)
        case OrFinally(main=main, until_=until):
            yield Feature.OR_FINALLY
            yield from _of_triggers((main, until))
        case _:
            assert_never(trigger)


def _of_triggers(triggers: Iterable[Trigger]) -> Iterator[Feature]:
    for trigger in triggers:
        yield from _of_trigger(trigger)


def _unwrapped(combiner: Combiner[object, object, object]) -> Combiner[object, object, object]:
    match combiner:
        case Over(combiner=inner) | Into(combiner=inner):
            return _unwrapped(inner)
        case _:
            return combiner


def features_of_combiner(combiner: Combiner[object, object, object]) -> frozenset[Feature]:
    """Returns the features that a combiner uses; a class that is not built in counts as user-defined."""
    inner = _unwrapped(combiner)
    if isinstance(inner, Together):
        parts = (features_of_combiner(part) for part in inner.parts)
        return frozenset((Feature.TOGETHER,)).union(*parts)
    return frozenset((_COMBINERS.get(type(inner), Feature.CUSTOM_COMBINERS),))


_COMBINERS: dict[type, Feature] = {
    Sum: Feature.SUM,
    Count: Feature.COUNT,
    Mean: Feature.MEAN,
    Min: Feature.MIN,
    Max: Feature.MAX,
    ToList: Feature.TO_LIST,
    ToSet: Feature.TO_SET,
    TopN: Feature.TOP_N,
    AnyOf: Feature.ANY_AND_ALL,
    AllOf: Feature.ANY_AND_ALL,
    Variance: Feature.VARIANCE,
    Quantile: Feature.QUANTILES,
    Quantiles: Feature.QUANTILES,
    ApproximateDistinct: Feature.APPROXIMATE_DISTINCT,
}
_POLICIES: dict[type, Feature] = {
    BoundedOutOfOrderness: Feature.BOUNDED_OUT_OF_ORDERNESS,
    Perfect: Feature.PERFECT,
    MonotonicTimestamps: Feature.MONOTONIC_TIMESTAMPS,
    Timeout: Feature.TIMEOUT,
    ProcessingTimeLag: Feature.PROCESSING_TIME_LAG,
    LagQuantile: Feature.LAG_QUANTILE,
    FittedLag: Feature.FITTED_LAG,
    IngressTime: Feature.INGRESS_TIME,
}


def features_of_policy(policy: WatermarkPolicy, *, publishes: bool = False) -> frozenset[Feature]:
    """Returns the features that a watermark policy uses, with its options, of a source that ``publishes`` or not."""
    options = {
        Feature.IDLE_AFTER: policy.idle_after is not None,
        Feature.MAX_AHEAD: policy.max_ahead is not None,
        Feature.PERCENTILES: bool(policy.percentiles),
        Feature.LAG_PERCENTILES: bool(policy.lag_percentiles),
        Feature.DECLARED_PARTITIONS: bool(policy.partitions),
    }
    kind = _POLICIES.get(type(policy), Feature.CUSTOM_POLICY)
    if kind is Feature.PERFECT and publishes:
        kind = Feature.PUBLISHED
    return frozenset((kind, *(option for option, used in options.items() if used)))
