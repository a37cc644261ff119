"""A pipeline with its input, how an engine differs from the reference on it, and cases as files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from attrs import frozen
from flowalg_laws.conformance.generated import describe_run, replays, run_failure
from flowalg_laws.conformance.judges import Engine
from flowalg_laws.kit.replay import Replay
from flowalg_laws.strategies.pipelines import ALL, pipelines
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import Interpreter, PCollection, Timeline, from_json, to_json
from flowalg.analysis import Capabilities
from flowalg.analysis.features import describe_feature, features_of
from flowalg.errors import UnsupportedError

CORPUS: Final = Path(__file__).parents[1] / "corpus"
"""The cases on which an engine once differed from the reference."""


@frozen
class Compared:
    """An engine that is compared; with ``ordered`` the order of its panes too."""

    name: str
    interpreter: Interpreter
    ordered: bool


@frozen
class Case:
    """A pipeline and the input of its sources."""

    pipeline: PCollection[object]
    replay: Replay

    def difference(self, engines: Sequence[Compared]) -> str:
        """Returns how the first engine that differs from the reference does, as text, or an empty string."""
        for engine in engines:
            text = self._difference_of(engine)
            if text:
                return f"{engine.name} differs from the reference:\n{text}"
        return ""

    def _difference_of(self, engine: Compared) -> str:
        """An engine must run what it supports, with the panes, drops and final result of the reference.

        It must reject the rest.
        """
        interpreter = engine.interpreter
        capabilities = interpreter.capabilities
        lacking = capabilities.lacking(features_of(self.pipeline) | self.replay.features)
        if not lacking:
            judged = Engine(capabilities, ordered=engine.ordered, drops=True)
            return run_failure(interpreter, self.pipeline, self.replay, judged)
        try:
            interpreter.run(self.pipeline, self.replay.timelines)
        except UnsupportedError:
            return ""
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        return f"it ran, but lacks {', '.join(map(describe_feature, lacking))}"

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


def kept_cases(folder: Path) -> list[Case]:
    """Returns the cases of the files in a folder."""
    return [from_json(path.read_text(encoding="utf-8"), Case) for path in sorted(folder.glob("*.json"))]


def cases(capabilities: Capabilities = ALL) -> SearchStrategy[Case]:
    """Returns generated cases with the features of an interpreter; by default with all, since it rejects the others."""
    return st.builds(Case, pipelines(capabilities), replays(capabilities))
