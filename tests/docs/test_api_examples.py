"""The examples of the API reference, in docstrings, give the output that they show."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isfunction

import api_examples
import pytest

from docs.tables import api
from tests.support.public import PUBLIC, ROOMS

WITHOUT_SPARK = (*ROOMS, "flowalg_reference", "flowalg_laws")
NAMES = {**PUBLIC, **vars(api_examples)}


def examples() -> Iterator[doctest.DocTest]:
    """Yields the examples of each exported class and function, with the names of ``api_examples``."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for package in WITHOUT_SPARK:
        for name in import_module(package).__all__:
            value = getattr(import_module(package), name)
            if (isclass(value) or isfunction(value)) and value.__module__.startswith("flowalg"):
                yield from (test for test in finder.find(value, name, globs=NAMES) if test.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_an_example_prints_what_it_shows(example: doctest.DocTest) -> None:
    """Each statement of an example prints the text below it."""
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert not runner.run(example, out=printed.append).failed, "".join(printed)


@pytest.mark.parametrize(
    "name",
    [
        "PCollection.map",
        "PCollection.flat_map",
        "PCollection.window",
        "PCollection.combine_per_key",
        "PCollection.with_side",
        "PCollection.co_group_by_key",
        "PCollection.split",
        "PTransform",
        "Timeline",
        "final_values",
        "run",
        "check_law",
        "check_interpreter",
    ],
)
def test_the_main_functions_have_an_example(name: str) -> None:
    """The methods and functions whose call is not obvious have an example."""
    assert name in {example.name for example in examples()}


def test_the_reference_shows_the_names_of_its_examples() -> None:
    """The page of the algebra has the definitions that the examples use."""
    definition = 'scores = Source("scores", Score, event_time=lambda s: s.at)'
    assert definition in api.page_text(api.PAGES["flowalg"])
