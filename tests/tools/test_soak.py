"""The soak of ``make soak``, for seconds instead of an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components import broker, postgresql
from tests.faults.soak.check import check


@pytest.mark.thorough
def test_a_query_that_is_killed_has_the_totals_of_what_was_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables in PostgreSQL and in Kafka lose and double nothing, and bad messages are counted."""
    lacking = broker.missing() or postgresql.missing()
    if lacking is not None:
        pytest.skip(lacking)
    picture = tmp_path / "soak.svg"
    assert check(minutes=0.4, restart=6, rate=200, engines=("local",), seed=1, picture=picture) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("soak: all held: 0.4 minutes")
    assert " 0 kills" not in last
    assert picture.exists()
