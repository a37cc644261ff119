"""What Spark's process for each stage loads when a query starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flowalg_spark.state.variables import Postponed, Variables
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import Row

from tests.support.programs import run_code


class Echo:
    """A processor that emits what it receives."""

    def process(self, variables: Variables, shard: int, rows: Iterator[Row]) -> Iterator[Row]:
        """Yields the rows."""
        return rows


def test_a_stage_that_only_declares_its_variables_loads_neither_flowalg_nor_polars(tmp_path: Path) -> None:
    """The processor as Spark sends it is loaded without the modules of the work, which take most of the time."""
    pickled = tmp_path / "processor"
    pickled.write_bytes(CloudPickleSerializer().dumps(Postponed(Echo())))  # type: ignore[no-untyped-call]
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pyspark import cloudpickle\n"
        f"processor = cloudpickle.loads(Path({str(pickled)!r}).read_bytes())\n"
        "assert callable(processor.init) and processor.pickled\n"
        "print(sorted(name for name in sys.modules if name.startswith(('flowalg', 'polars', 'tests'))))\n"
    )
    assert run_code(program) == "[]\n"
