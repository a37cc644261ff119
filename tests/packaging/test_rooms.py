"""The structure of the code: each folder is a room, and imports between rooms form no cycle.

The tests catch an import that closes a cycle of rooms, or an import of presentation code by the core.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = {
    "flowalg": ROOT,
    "flowalg_laws": ROOT / "laws",
    "flowalg_columns": ROOT / "interpreters",
    "flowalg_kafka": ROOT / "interpreters",
    "flowalg_polars": ROOT / "interpreters",
    "flowalg_reference": ROOT / "interpreters",
    "flowalg_shard": ROOT / "interpreters",
    "flowalg_sinks": ROOT / "interpreters",
    "flowalg_snapshots": ROOT / "interpreters",
    "flowalg_spark": ROOT / "interpreters",
    "flowalg_tools": ROOT / "interpreters",
}
MOST_MODULES: Final = 16
"""The largest number of modules in a room, without its ``__init__``."""


@cache
def modules() -> Mapping[str, Path]:
    """Returns the file of each module, by the module's name."""
    files: dict[str, Path] = {}
    for package, root in PACKAGES.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def top_room(room: str) -> str:
    """Returns the outermost room inside the package: ``flowalg.lifting`` for ``flowalg.lifting.tree``."""
    return ".".join(room.split(".")[:2])


def room_of(module: str) -> str:
    """Returns the package that a module is in. A ``__main__`` is a room of its own, since it imports its package."""
    if module.endswith(".__main__"):
        return module
    return module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]


@cache
def imports_of(module: str) -> tuple[str, ...]:
    """Returns the modules of the project that a module imports, at any place in its file."""
    return tuple(_imports_of(module))


def _imports_of(module: str) -> Iterator[str]:
    files = modules()
    for node in ast.walk(ast.parse(files[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from (name for name in (inner if inner in files else node.module,) if name in files)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)


def nodes_in_cycles(graph: Mapping[str, set[str]]) -> list[str]:
    """Returns the nodes on a cycle or between two cycles, by removing nodes without successors or predecessors."""
    left = {name: set(targets) for name, targets in graph.items()}
    while leaves := {name for name in left if not left[name] & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in leaves}
    imported = {target for targets in left.values() for target in targets}
    while roots := left.keys() - imported:
        left = {name: targets for name, targets in left.items() if name not in roots}
        imported = {target for targets in left.values() for target in targets}
    return sorted(left)


def imports_between(room_of_module: Callable[[str], str]) -> Mapping[str, set[str]]:
    """Returns the imports between rooms. A package that only re-exports the rooms inside it does not import them."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in modules().items():
        room = room_of_module(module)
        for other in {room_of_module(name) for name in imports_of(module)} - {room}:
            if not (other.startswith(f"{room}.") and path.name == "__init__.py"):
                graph[room].add(other)
    return graph


def test_no_imports_form_a_cycle() -> None:
    """No imports form a cycle: neither between modules, nor between rooms, nor between top rooms."""
    assert nodes_in_cycles({module: set(imports_of(module)) - {module} for module in modules()}) == []
    assert nodes_in_cycles(imports_between(room_of)) == []
    assert nodes_in_cycles(imports_between(lambda module: top_room(room_of(module)))) == []


def test_only_the_package_and_the_tools_import_the_notebook_views() -> None:
    """The notebook views are registered; only ``flowalg`` itself and the tools import their module."""
    views = {"flowalg.notebook", "flowalg.notebook.html"}
    importers = {module for module in modules() if views & set(imports_of(module))} - views
    assert {module for module in importers if not module.startswith("flowalg_tools")} <= {"flowalg"}


def test_packages_import_only_the_packages_below_them() -> None:
    """The core imports no other package, ``flowalg_shard`` imports only the core, and only tools import tools."""
    for module in modules():
        package, imported = module.partition(".")[0], set(imports_of(module))
        above = {name for name in imported if name.partition(".")[0] != package}
        if package == "flowalg":
            assert not above, module
        if package == "flowalg_shard":
            assert {name.partition(".")[0] for name in above} <= {"flowalg"}, module
        if package != "flowalg_tools":
            assert not any(name.startswith("flowalg_tools") for name in above), module


def test_the_step_has_its_own_meaning_of_triggers() -> None:
    """The step compiles each leaf itself: it never asks a leaf when it is ready, as the reference does."""
    answers = {"deadline", "is_ready", "is_restless", "longest_wait", "progress", "settle"}
    for module, path in modules().items():
        if module.startswith("flowalg_shard.triggers"):
            methods = {
                node.attr
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            }
            assert not methods & answers, module


def test_rooms_are_small() -> None:
    """No room has more than ``MOST_MODULES`` modules."""
    sizes = Counter(room_of(module) for module, path in modules().items() if path.name != "__init__.py")
    assert {room: size for room, size in sizes.items() if size > MOST_MODULES} == {}
