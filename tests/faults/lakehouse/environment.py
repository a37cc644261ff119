"""Environments with a version of PySpark that Delta and Iceberg have jars for, in ``build/lakehouse``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flowalg_spark.sinks import delta, iceberg

from tests.components.jars import BUILD, resolve_jars

ROOT: Final = BUILD.parent
VERSIONS: Final = {"4.1": (delta, iceberg), "4.2": (delta,)}
"""The versions of Spark, and the formats that are tried with each."""

_OF_SPARK: Final = (
    "hadoop-",
    "jackson-",
    "log4j-",
    "parquet-",
    "scala-library",
    "slf4j-",
    "snappy-",
    "zstd-",
)
"""The beginnings of the names of jars that Spark has itself."""


def python_of(version: str) -> Path:
    """Returns the Python of an environment with this version of PySpark and the project; makes it once."""
    folder = BUILD / "lakehouse" / version
    python, stamp = folder / "bin" / "python", folder / "ready"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        wanted = (".[laws,postgresql,kafka,prometheus]", f"pyspark=={version}.*", "psutil", "pytest")
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-e", *wanted], check=True, cwd=ROOT)
        stamp.touch()
    return python


def variables(version: str, warehouse: Path) -> Mapping[str, str]:
    """Returns the environment variables of a process whose Spark session has the formats.

    The Iceberg catalog ``lake`` has its tables in the folder ``warehouse``.
    """
    formats = VERSIONS[version]
    coordinates = tuple(table_format.JARS[version] for table_format in formats)
    jars = [
        jar for jar in resolve_jars(f"lakehouse-{version}", coordinates) if not jar.name.startswith(_OF_SPARK)
    ]
    settings = {
        "spark.sql.extensions": ",".join(table_format.EXTENSION for table_format in formats),
        "spark.sql.catalog.spark_catalog": delta.CATALOG,
        # For small tables: by default, the state of a table has 50 partitions.
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    if iceberg in formats:
        settings |= {
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(warehouse),
        }
    conf = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    python = str(python_of(version))
    return {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(map(str, jars))} {conf} pyspark-shell",
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
        "SPARK_CONF_DIR": str(ROOT / "tests" / "support" / "spark"),
        "PYTHONPATH": os.pathsep.join(
            map(str, (ROOT, ROOT / "laws", ROOT / "interpreters", ROOT / "docs" / "examples"))
        ),
    }
