"""The operations of ``PCollection`` as values, and the structure of products: pipelines without a source.

``KeyBy(f)`` applied to a collection is ``collection.key_by(f)``, and so for each operation here: it calls the method of
its name, with the same arguments, and has the errors of the method. ``collection >> KeyBy(f)`` applies it, and
``transform >> KeyBy(f)`` composes it, so that a pipeline is a composition (Streaming 102 writes its listings so)::

    Input(KV[str, int]) >> WindowInto(FixedWindows(2 * MINUTE)) >> CombinePerKey(Sum())

An operation of functions is a ``PTransform``, whose types are those of its functions. For a lambda the type of the
elements comes first: ``KeyBy(Score, lambda s: s.team)``; type checkers infer the rest. Other operations are for any
elements, such as ``WindowInto(...)``, or any keys, such as ``GroupByKey()``. They are functions of collections that can
be compared, and follow a transform, whose types are theirs then; ``Input`` begins a composition with the type of its
elements.
"""

from flowalg.transforms.computations import Deduplicate, Every, Process
from flowalg.transforms.elementwise import (
    Collect,
    Filter,
    FlatMap,
    KeyBy,
    Map,
    MapValues,
    Only,
    Partition,
    Split,
    TryMap,
    WithTimestamps,
)
from flowalg.transforms.groupings import (
    CombineGlobally,
    CombinePerKey,
    Distinct,
    GroupByKey,
    Top,
    WindowInto,
)
from flowalg.transforms.inputs import FromInput, Inputs, process_inputs
from flowalg.transforms.joins import (
    AntiJoin,
    CoGroupByKey,
    Except,
    FullJoin,
    InnerJoin,
    LeftJoin,
    SemiJoin,
)
from flowalg.transforms.metadata import WithEventTime, WithPane, WithWindow
from flowalg.transforms.per_key import PerKey
from flowalg.transforms.products import Copy, FanOut, First, Flatten, Input, Second, Swap
from flowalg.transforms.side_inputs import FilterWith, FlatMapWith, MapWith, WithMap, WithSide, WithSingleton

__all__ = [
    "AntiJoin",
    "CoGroupByKey",
    "Collect",
    "CombineGlobally",
    "CombinePerKey",
    "Copy",
    "Deduplicate",
    "Distinct",
    "Every",
    "Except",
    "FanOut",
    "Filter",
    "FilterWith",
    "First",
    "FlatMap",
    "FlatMapWith",
    "Flatten",
    "FromInput",
    "FullJoin",
    "GroupByKey",
    "InnerJoin",
    "Input",
    "Inputs",
    "KeyBy",
    "LeftJoin",
    "Map",
    "MapValues",
    "MapWith",
    "Only",
    "Partition",
    "PerKey",
    "Process",
    "Second",
    "SemiJoin",
    "Split",
    "Swap",
    "Top",
    "TryMap",
    "WindowInto",
    "WithEventTime",
    "WithMap",
    "WithPane",
    "WithSide",
    "WithSingleton",
    "WithTimestamps",
    "WithWindow",
    "process_inputs",
]
