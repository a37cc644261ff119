"""The comparison of the readers of text, on a few generated files, and a reader that it must find.

The tests catch a reader that differs from what a file has, and a comparison that does not see it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential import readers
from tests.differential.readers import Comparison, Reading, generate
from tests.support.text_files import text_files

pytest.importorskip("confluent_kafka", reason="Kafka needs the package confluent-kafka: flowalg[kafka]")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_the_readers_agree(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What each reader reads of a file is what the file has, and no record of a stream is lost."""
    monkeypatch.chdir(tmp_path)
    comparison = Comparison(None)
    comparison.compare(generate(text_files(), 30 if seed == 1 else 400, seed))
    assert (comparison.compared > 0, comparison.different) == (True, 0)


def test_a_reader_that_differs_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reader that loses a bad record differs, and the file is kept."""
    monkeypatch.chdir(tmp_path)
    read = readers.read_by_command_line

    def without_bad(path: Path, kind: str) -> Reading:
        return Reading(read(path, kind).records, 0)

    monkeypatch.setattr(readers, "read_by_command_line", without_bad)
    comparison = Comparison(None)
    comparison.compare(generate(text_files(), 15, 3))
    assert comparison.different
    assert len(list((tmp_path / "build" / "fuzz-readers").iterdir())) == comparison.different
