"""A pipeline with its input, how an engine differs from the reference on it, and cases as files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, cast

from attrs import frozen
from flowalg_laws.conformance.generated import describe_run, replays, run_failure
from flowalg_laws.conformance.judges import Engine
from flowalg_laws.kit.replay import Replay
from flowalg_laws.strategies.pipelines import pipelines
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import Interpreter, PCollection, Timeline, UnsupportedError, from_json, to_json
from flowalg.analysis.features import features_of

CORPUS: Final = Path(__file__).parents[2] / "corpus"
"""The cases on which an engine once differed from the reference."""


@frozen
class Case:
    """A pipeline and the input of its sources."""

    pipeline: PCollection[object]
    replay: Replay

    def difference(self, interpreter: Interpreter, *, ordered: bool) -> str:
        """Returns how an interpreter differs from the reference as text, or an empty string.

        It must run what it supports, with the panes, drops and final result of the reference, and reject the rest.
        """
        capabilities = interpreter.capabilities
        lacking = capabilities.lacking(features_of(self.pipeline) | self.replay.features)
        if not lacking:
            return run_failure(
                interpreter, self.pipeline, self.replay, Engine(capabilities, ordered=ordered, drops=True)
            )
        try:
            interpreter.run(self.pipeline, self.replay.timelines)
        except UnsupportedError:
            return ""
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        return f"it ran, but lacks {', '.join(feature.description for feature in lacking)}"

    def __str__(self) -> str:
        return describe_run(self.pipeline, self.replay)

    def save(self, folder: Path) -> Path:
        """Writes the case to a file that is named by its content, and returns the file."""
        # A case is a frozen record, which the format can hold; Writable lists the values of the algebra only.
        text = to_json(cast("Timeline[object]", self), indent=1) + "\n"
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def read_case(path: Path) -> Case:
    """Returns the case of a file."""
    return from_json(path.read_text(encoding="utf-8"), Case)


def cases() -> SearchStrategy[Case]:
    """Returns generated cases with all features; each interpreter rejects those that it lacks."""
    return st.builds(Case, pipelines(), replays())
