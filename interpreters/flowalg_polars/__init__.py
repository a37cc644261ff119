"""The local engine: a pipeline on Polars, in one process and without a JVM.

``batch.compile`` returns a lazy frame of panes, with the columns of ``flowalg_spark``. ``replay`` runs a pipeline
over recorded data as a stream would have, instant by instant. ``output_frame`` makes a frame of any run. Each takes
one pipeline, or several outputs by their names. ``PolarsBatch`` and ``PolarsStreaming`` are the interpreters over
timelines.
"""

from flowalg_polars import batch, streaming
from flowalg_polars.batch.interpreter import PolarsBatch
from flowalg_polars.frames.final_values import final_values
from flowalg_polars.frames.outputs import output_frame
from flowalg_polars.frames.pane_frame import PaneFrame, collect, collect_elements
from flowalg_polars.streaming.interpreter import PolarsStreaming
from flowalg_polars.streaming.operators import Cluster
from flowalg_polars.streaming.replaying import ReplayInput, replay

__all__ = [
    "Cluster",
    "PaneFrame",
    "PolarsBatch",
    "PolarsStreaming",
    "ReplayInput",
    "batch",
    "collect",
    "collect_elements",
    "final_values",
    "output_frame",
    "replay",
    "streaming",
]
