"""Documents that are not what ``to_json`` wrote: each is read, or is a ``DocumentError``, and nothing else.

The tests catch a reader of documents that raises an error of Python's, without the path of the fault.
"""

from __future__ import annotations

import json
import pathlib
from contextlib import suppress
from datetime import timedelta
from typing import Final, TypeAlias

import games
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowalg import AtPeriod, AtWatermark, BoundedOutOfOrderness, PCollection, from_json, to_json
from flowalg.errors import DocumentError
from flowalg.serialization import TRIGGER, WATERMARK_POLICY

Path: TypeAlias = tuple[str | int, ...]

PIPELINE: Final[object] = json.loads(to_json(games.STANDINGS))
PARTS: Final[tuple[object, ...]] = (
    json.loads(to_json(BoundedOutOfOrderness(timedelta(1), idle_after=timedelta(2)))),
    json.loads(to_json(AtWatermark().with_early_firings(AtPeriod(timedelta(1))))),
)
REPLACEMENTS: Final[tuple[object, ...]] = (
    *(None, True, 0, -1, 10**30, 1e308, "", "x", "\0", "\ud800", [], {}, [[]]),
    *("PT1M", "P1Y", "PT9999999999999999999H", "9999-12-31T23:59:59.999999Z"),
    *("games:nope", "games:", "nope:x", ":", "os:path", "games:Score"),
    *({"f": "games:when"}, {"f": 3}, {"Sum": {}}, {"AtCount": {"count": 1}}, {"PCollection": {"node": 0}}),
)


def parts(document: object) -> list[tuple[str | int, object]]:
    """Returns the parts of an object or an array, by their name or number."""
    if isinstance(document, dict):
        return list(document.items())
    return list(enumerate(document)) if isinstance(document, list) else []


def paths(document: object) -> list[Path]:
    """Returns the paths of all parts of a document but the document itself."""
    return [
        path for name, part in parts(document) for path in ((name,), *((name, *rest) for rest in paths(part)))
    ]


def mutate(document: object, path: Path, value: object, *, removed: bool) -> object:
    """Returns a document whose part at a path is removed, or another value."""
    if not path:
        return value
    first, *rest = path
    kept = [
        (name, mutate(part, tuple(rest), value, removed=removed) if name == first else part)
        for name, part in parts(document)
        if rest or not removed or name != first
    ]
    return dict(kept) if isinstance(document, dict) else [part for _, part in kept]


@pytest.mark.parametrize("document", [PIPELINE, *PARTS], ids=["pipeline", "policy", "trigger"])
@given(data=st.data())
def test_an_invalid_document_is_a_document_error(document: object, data: st.DataObject) -> None:
    """A document with a part that is missing or another is read, or raises ``DocumentError``."""
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(paths(document)))
        replacement = data.draw(st.sampled_from(REPLACEMENTS))
        document = mutate(document, path, replacement, removed=data.draw(st.booleans()))
        if not paths(document):
            break
    text = json.dumps(document)
    for kind in (PCollection[object], TRIGGER, WATERMARK_POLICY):
        with suppress(DocumentError):
            from_json(text, kind)


def test_a_module_that_exits_cannot_be_imported(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that names a script is an error with its path, and does not end the process."""
    (tmp_path / "a_script_that_exits.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    text = to_json(games.STANDINGS).replace("games:when", "a_script_that_exits:when")
    with pytest.raises(DocumentError, match="importing a_script_that_exits raised SystemExit: 3"):
        from_json(text, PCollection[object])


def test_a_key_that_is_twice_among_many_is_found_in_one_pass() -> None:
    """An object with many keys, one of them twice, is an error in a time that their number determines."""
    keys = ", ".join(f'"{number}": 1' for number in [*range(200_000), 199_999])
    with pytest.raises(DocumentError, match="has the key '199999' twice"):
        from_json(f"{{{keys}}}", PCollection[object])
