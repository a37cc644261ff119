"""A daemon that has imported flowalg, pandas and PySpark's worker before it forks Python workers.

Spark forks its Python workers from a daemon that has imported nothing, so that each worker spends seconds on imports: a
stream starts one for each task of each of its stages. A worker that is forked from this daemon starts with all modules.
``local_session`` sets it; for a cluster on whose machines flowalg is installed, set ``spark.python.daemon.module`` to
``flowalg_spark.daemon`` before the session starts.

A fork copies only the thread that forks. Imports start threads of allocators and of OpenBLAS, which handle forks; those
of Polars and Arrow that run queries start with the first query, which is in the worker.
"""

from __future__ import annotations

import gc

import pandas as pd  # noqa: F401
import pyspark.sql.streaming.stateful_processor_util
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    # The collector of a worker does not visit these objects, which would copy the pages that it shares with others.
    gc.collect()
    gc.freeze()
    manager()
