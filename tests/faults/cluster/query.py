"""The queries on the cluster, which ``spark-submit`` runs, and their input as a timeline."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import pyspark
from attrs import evolve, frozen
from flowalg_spark import configure
from pyspark.sql import SparkSession

from flowalg import Timeline
from tests.faults import subject
from tests.faults.cluster.packing import FOLDER, Shipped
from tests.faults.files import POLICY
from tests.faults.on_spark import SparkFiles
from tests.faults.progress import Batches
from tests.faults.subject import Process, Subject
from tests.faults.visits import VISITS, Visit, visits

SETTINGS: Final = {
    "spark.executor.memory": "700m",
    "spark.driver.memory": "700m",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.executorEnv.PYTHONPATH": f"./{FOLDER}",
    "spark.task.maxFailures": "8",
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
    # A stage of one task has no other to compare its duration with.
    "spark.speculation.task.duration.threshold": "3s",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@frozen
class ClusterQuery(SparkFiles):
    """A run on the cluster at ``master``, from files to files."""

    master: str
    shipped: Shipped

    def session(self) -> SparkSession:
        """Starts a session on the cluster."""
        return configure(SparkSession.builder.appName(f"flowalg {self.query}").getOrCreate(), partitions=2)

    def start(self) -> Process:
        """Submits the query; the process is its driver. One of its functions will be slow."""
        (self.folder / "slow").touch()
        return Subject.start(self)

    @property
    def command(self) -> Sequence[str]:
        """The command that submits a stored subject."""
        settings = SETTINGS | {"spark.eventLog.dir": (self.folder / "events").as_uri()}
        return (
            str(_HOME / "bin" / "spark-submit"),
            "--master",
            self.master,
            "--archives",
            f"{self.shipped.archive}#{FOLDER}",
            "--py-files",
            str(self.shipped.modules),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            str(subject.__file__),
        )

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of the driver."""
        # Not the interpreter of this environment, so that the libraries come from the archive only.
        python = getattr(sys, "_base_executable", sys.executable)
        return {
            **os.environ,
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": python,
            # Spark starts a second Python process on the driver, which does not get the files of --py-files.
            "PYTHONPATH": os.pathsep.join([str(self.shipped.libraries), str(self.shipped.modules)]),
        }


_HOME: Final = Path(pyspark.__file__).parent


def timeline() -> Timeline[Visit]:
    """Returns the input: an instant for each micro-batch."""
    return Timeline.from_records(
        VISITS,
        chain.from_iterable(visits()),
        processing_time=lambda visit: visit.seen,
        watermark=POLICY,
    )


def joined(arrivals: Timeline[Visit], batches: Batches) -> Timeline[Visit]:
    """Returns the input of a query whose micro-batches have read some files, each of which has an instant."""
    groups = ([arrivals.instants[int(Path(name).stem)] for name in names] for names in batches)
    instants = (
        evolve(group[-1], elements=tuple(chain.from_iterable(instant.elements for instant in group)))
        for group in groups
    )
    return evolve(arrivals, instants=tuple(instants))
