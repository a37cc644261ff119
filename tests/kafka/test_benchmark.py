"""The benchmark of topics divides the time of the local engine; ``test_small_benchmarks.py`` runs all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.benchmarks.kafka import local
from tests.components.broker import Broker


@pytest.mark.long
def test_the_local_engine_is_divided_into_its_parts(kafka: Broker, tmp_path: Path) -> None:
    """A run over a topic gives the times of fetching, of decoding and of the query."""
    result = local.measure(kafka.servers, tmp_path, rows=500, batches=4, rounds=2)
    assert {"fetch_s", "fetch_and_decode_s", "query_s", "decoder_share", "messages_per_s"} <= set(result)
