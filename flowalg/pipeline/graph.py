"""Directed acyclic graphs: the order of their nodes, and the one memoised fold that interpreters and analyses use.

A collection that several others read is one node, so a pipeline is a graph and not a tree: walked as a tree it takes
time exponential in its depth. Everything here visits each node once, by identity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Generic, Protocol, TypeVar

from attrs import define, field


class Vertex(Protocol):
    """A vertex of a graph: a value with references to its inputs."""

    @property
    def inputs(self) -> tuple[Vertex, ...]:
        """The inputs of the vertex."""
        ...


N = TypeVar("N", bound=Vertex)
R = TypeVar("R")


def nodes_of(*roots: N, inputs: Callable[[N], tuple[N, ...]] | None = None) -> Iterator[N]:
    """Yields each node of some graphs once, inputs before the nodes that read them.

    ``inputs`` says which inputs of a node to follow; all, if it is not given.
    """
    follow = inputs or _inputs
    visited: set[int] = set()
    pending: list[tuple[N, bool]] = [(root, False) for root in reversed(roots)]
    while pending:
        node, expanded = pending.pop()
        if id(node) in visited:
            continue
        if expanded:
            visited.add(id(node))
            yield node
        else:
            pending.append((node, True))
            pending.extend((inner, False) for inner in reversed(follow(node)))


def count_readers(*roots: Vertex) -> Counter[int]:
    """Returns how many read each node of some graphs, by its identity: other nodes, and those who asked for a root."""
    inner = (vertex for node in nodes_of(*roots) for vertex in _inputs(node))
    return Counter(map(id, chain(roots, inner)))


@define
class Fold(Generic[N, R]):
    """A fold over a graph: ``algebra(node, fold)`` computes the result of a node from ``fold(input)`` of its inputs.

    Each node is visited once, by identity, however many others read it; results are kept as long as the fold is.
    """

    algebra: Callable[[N, Fold[N, R]], R]
    results: dict[int, tuple[N, R]] = field(factory=dict)

    def __call__(self, node: N) -> R:
        """Returns the result of a node."""
        entry = self.results.get(id(node))
        if entry is None:
            # The node is kept with its result: otherwise a later node could get its identity.
            entry = self.results[id(node)] = (node, self.algebra(node, self))
        return entry[1]

    def __contains__(self, node: N) -> bool:
        return id(node) in self.results


def fold(root: N, algebra: Callable[[N, Fold[N, R]], R]) -> R:
    """Returns what an algebra computes for a whole graph, inputs first; see ``Fold``."""
    (result,) = fold_all([root], algebra)
    return result


def fold_all(roots: Sequence[N], algebra: Callable[[N, Fold[N, R]], R]) -> tuple[R, ...]:
    """Returns what an algebra computes for several graphs; a node that they share is visited once."""
    whole = Fold(algebra)
    for node in nodes_of(*roots):
        whole(node)
    return tuple(map(whole, roots))


def equal(left: N, right: N, alike: Callable[[N, N], bool]) -> bool:
    """Returns whether two graphs are equal: ``alike`` compares two nodes without their inputs."""
    compared: set[tuple[int, int]] = set()
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if one is other or (id(one), id(other)) in compared:
            continue
        compared.add((id(one), id(other)))
        inputs, others = _inputs(one), _inputs(other)
        if len(inputs) != len(others) or not alike(one, other):
            return False
        pending.extend(zip(inputs, others, strict=True))
    return True


def _inputs(node: N) -> tuple[N, ...]:
    inputs: tuple[N, ...] = node.inputs  # type: ignore[assignment]  # the inputs of a node are nodes of its kind
    return inputs
