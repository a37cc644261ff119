"""A home of Spark for tests whose Python workers start in half of the time.

Spark puts an archive of PySpark before the installed package on the path of each worker, and Python compiles a module
of an archive again in each process that imports it. Here a folder with the installed package stands in its place.
"""

from __future__ import annotations

import atexit
import shutil
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp


def spark_home() -> Path | None:
    """Returns a folder of links to the installed PySpark, which goes with this process; ``None`` without PySpark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    package, home = Path(spec.origin).parent, Path(mkdtemp(prefix="spark-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for entry in package.iterdir():
        if entry.name != "python":
            (home / entry.name).symlink_to(entry)
    libraries = home / "python" / "lib"
    (libraries / "pyspark.zip").mkdir(parents=True)
    (libraries / "pyspark.zip" / "pyspark").symlink_to(package)
    for entry in (package / "python" / "lib").glob("py4j-*"):
        (libraries / entry.name).symlink_to(entry)
    return home
