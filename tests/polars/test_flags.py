"""Members of enums whose values are flags: an element holds one member, on every engine."""

from __future__ import annotations

from datetime import datetime
from enum import Flag, auto

import pytest
from attrs import frozen
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference

from flowalg import Interpreter, Source
from flowalg.errors import ElementError
from tests.support.elements import bounded, elements_of
from tests.support.scores import NOON


class Right(Flag):
    """What one may do."""

    READ = auto()
    WRITE = auto()


@frozen
class Grant:
    """A record with a flag."""

    right: Right
    at: datetime


GRANTS = Source("grants", Grant, event_time=lambda grant: grant.at)


@pytest.mark.parametrize("engine", [Reference(), PolarsBatch(), PolarsStreaming()], ids=repr)
def test_a_combination_of_flags_is_no_member(engine: Interpreter) -> None:
    """One flag is an element, and several or none are an error that names the field, in a source and of a function."""
    assert elements_of(engine, GRANTS.map(lambda g: g.right), {GRANTS: bounded(Grant(Right.READ, NOON))}) == [
        repr(Right.READ)
    ]
    for combined in (Right.READ | Right.WRITE, Right(0)):
        with pytest.raises(ElementError, match=r"element\.right must be one member of Right; got <Right"):
            elements_of(engine, GRANTS, {GRANTS: bounded(Grant(combined, NOON))})
    every = GRANTS.map(lambda g: g.right | Right.WRITE, result=Right)
    with pytest.raises(
        ElementError, match="result of map.* must be one member of Right; got <Right.READ|WRITE"
    ):
        elements_of(engine, every, {GRANTS: bounded(Grant(Right.READ, NOON))})
