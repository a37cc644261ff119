"""Fixtures, profiles and groups of all tests: one Spark session, started only when a test needs it."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.components import broker, postgresql
from tests.components.memory import scratch_folder
from tests.components.spark_home import spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The number of examples per property. ``few`` and ``quick`` try the same examples in every run, so that results are
# stable; ``explore`` draws new ones for minutes, and ``thorough`` for hours: FLOWALG_PROFILE=explore make test-fast.
for name, examples in (("few", 5), ("quick", 10), ("explore", 150), ("thorough", 2000)):
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=name in ("few", "quick"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
# Like ``quick``, but without shrinking failures: for ``make mutants``, and with more examples for checks that fail.
for name, examples in (("mutants", 10), ("unshrunk", 100)):
    settings.register_profile(
        name,
        parent=settings.get_profile("quick"),
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
    )
settings.load_profile(os.environ.get("FLOWALG_PROFILE", "quick"))

# The settings of every Spark that the tests start, in this process or in others.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "support" / "spark"))


@pytest.fixture
def unshrunk() -> Iterator[None]:
    """Checks that fail show the first failure that they find, since shrinking it takes most of the time."""
    before = settings.get_current_profile_name()
    settings.load_profile("unshrunk")
    yield
    settings.load_profile(before)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The shared local session; tests that use it are marked ``spark``."""
    from flowalg_spark import local_session

    session = local_session("flowalg tests", memory="2g")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server of the tests."""
    lacking = postgresql.missing()
    if lacking is not None:
        pytest.skip(lacking)
    with postgresql.cluster() as conninfo:
        yield conninfo


@pytest.fixture(scope="session")
def kafka() -> Iterator[broker.Broker]:
    """A Kafka broker of the tests."""
    pytest.importorskip("confluent_kafka", reason="Kafka needs the package confluent-kafka: flowalg[kafka]")
    lacking = broker.missing()
    if lacking is not None:
        pytest.skip(lacking)
    with broker.broker() as started:
        yield started


# The tests sync thousands of small files, which takes no time in memory. Processes that they start inherit this.
if "TMPDIR" not in os.environ and (memory := scratch_folder()) is not None:
    os.environ["TMPDIR"] = tempfile.tempdir = str(memory)

# Processes that pytest starts inherit this as well.
if "SPARK_HOME" not in os.environ and (home := spark_home()) is not None:
    os.environ["SPARK_HOME"] = str(home)

# Collecting makes millions of objects that live until the end. Without this, the collector walks over them again and
# again, for a tenth of the time of the quick tests.
gc.disable()


def pytest_collection_finish() -> None:
    """Leaves what was collected to the end of the process, and everything later to the garbage collector."""
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks the tests that use the session, so that ``-m 'not spark'`` leaves them out."""
    if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
        item.add_marker("spark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests with Spark first, so that no process ends with a long file while the other one is idle."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
