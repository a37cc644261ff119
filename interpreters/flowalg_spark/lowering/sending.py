"""Functions that Spark cannot send to its workers: which function it is, and which of its variables is at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import getclosurevars, ismethod
from pickle import PicklingError
from types import FunctionType, ModuleType

import attrs
from pyspark import cloudpickle

from flowalg.data.errors import NotWritableError, describe_function
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, Node, Process, SourceNode, WindowInto
from flowalg.runs.bad_records import event_time_label


@contextmanager
def require_sendable(*roots: Node) -> Iterator[None]:
    """Raises ``NotWritableError``, with the transform and the variable, for a function that cannot be pickled."""
    try:
        yield
    except PicklingError as error:
        for label, f in _functions(roots):
            at_fault = _variable_at_fault(f)
            if at_fault is not None:
                name, value, reason = at_fault
                kind = type(value)
                raise NotWritableError(
                    f"{label}: {describe_function(f)} cannot be sent to the workers of Spark, because of its variable "
                    f"{name!r}, which is a {kind.__module__}.{kind.__qualname__}: {reason}; create it inside of the "
                    "function, or in a function of a module that the workers import"
                ) from error
        raise NotWritableError(
            "a part of the query that has no function of its own, such as a watermark policy, cannot be sent to the "
            f"workers of Spark: {error}; define its class at the top level of a module that the workers import"
        ) from error


def _functions(roots: tuple[Node, ...]) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yields the user-defined functions of pipelines, with the label of their transform."""
    for node in nodes_of(*roots):
        match node:
            case ElementWise(steps=steps):
                for step in steps:
                    yield from ((step.label, f) for f in _callables(step))
            case SourceNode():
                yield from ((event_time_label(node), f) for f in _callables(node.event_time))
            case CombinePerKey(combiner=part) | Process(computation=part):
                yield from ((node.label, f) for f in _callables(part))
            case WindowInto(strategy=strategy):
                yield from (("window", f) for f in _callables(strategy))
            case _:
                pass


def _callables(value: object) -> Iterator[Callable[..., object]]:
    """Yields the functions in a value of the algebra."""
    if isinstance(value, type | ModuleType):
        return
    if isinstance(value, tuple | list):
        for item in value:
            yield from _callables(item)
    elif attrs.has(kind := type(value)):
        for field in attrs.fields(kind):
            yield from _callables(getattr(value, field.name, None))
    elif callable(value):
        yield value


def _variable_at_fault(f: Callable[..., object]) -> tuple[str, object, str] | None:
    """Returns the variable of a function that cannot be pickled: its name, its value, and the reason."""
    f = getattr(f, "wrapped", f)
    for name, value in _variables(f).items():
        try:
            cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
        except Exception as error:
            inner = _variable_at_fault(value) if callable(value) else None
            return inner or (name, value, str(error).partition("\n")[0])
    return None


def _variables(f: object) -> Mapping[str, object]:
    """Returns what a callable refers to, by name."""
    if isinstance(f, partial):
        return {"func": f.func, **{f"args[{i}]": argument for i, argument in enumerate(f.args)}, **f.keywords}
    if ismethod(f):
        return {**_attributes(f.__self__, "self."), **_variables(f.__func__)}
    if isinstance(f, FunctionType):
        closure = getclosurevars(f)
        defaults = dict(enumerate(f.__defaults__ or ()))
        return {
            **closure.nonlocals,
            **closure.globals,
            **{f"default {number}": value for number, value in defaults.items()},
            **(f.__kwdefaults__ or {}),
        }
    return _attributes(f, "")


def _attributes(value: object, prefix: str) -> dict[str, object]:
    return {f"{prefix}{name}": attribute for name, attribute in getattr(value, "__dict__", {}).items()}
