"""The structure of the code: rooms that a stranger can guess, and imports that point one way.

This family catches an import that ties two rooms into a circle, or the core to what presents it.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = {
    "flowalg": ROOT,
    "flowalg_laws": ROOT / "laws",
    "flowalg_reference": ROOT / "interpreters",
    "flowalg_shard": ROOT / "interpreters",
    "flowalg_sinks": ROOT / "interpreters",
    "flowalg_spark": ROOT / "interpreters",
    "flowalg_tools": ROOT / "tools",
    "flowalg_development": ROOT / "tools",
}
MOST_MODULES: Final = 16
"""In one room, besides its ``__init__``."""


@cache
def modules() -> Mapping[str, Path]:
    """The file of each module, by its name."""
    found: dict[str, Path] = {}
    for package, root in PACKAGES.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def floor_of(room: str) -> str:
    """A room together with the rooms inside it: ``flowalg.lifting`` for ``flowalg.lifting.tree``."""
    return ".".join(room.split(".")[:2])


def room_of(module: str) -> str:
    """The package that a module is in; a program, ``__main__``, is above its package."""
    if module.endswith(".__main__"):
        return module
    return module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]


def imports_of(module: str) -> Iterator[str]:
    """The modules of the project that a module imports, at any place in it."""
    known = modules()
    for node in ast.walk(ast.parse(known[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from (name for name in (inner if inner in known else node.module,) if name in known)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)


def circles(arrows: Mapping[str, set[str]]) -> list[str]:
    """The nodes of a graph that lie on a circle: what stays when all that lead nowhere are taken away."""
    left = {name: set(targets) for name, targets in arrows.items()}
    while ends := {name for name in left if not left[name] & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in ends}
    sources = {target for targets in left.values() for target in targets}
    while starts := left.keys() - sources:
        left = {name: targets for name, targets in left.items() if name not in starts}
        sources = {target for targets in left.values() for target in targets}
    return sorted(left)


def test_no_imports_form_a_circle() -> None:
    """No imports form a circle, neither between modules nor between rooms, each with the rooms inside it.

    A package that only re-exports its parts is above them.
    """
    by_module = {module: set(imports_of(module)) - {module} for module in modules()}
    assert circles(by_module) == []
    by_room: dict[str, set[str]] = defaultdict(set)
    for module, imported in by_module.items():
        room = floor_of(room_of(module))
        for other in {floor_of(room_of(name)) for name in imported} - {room}:
            if not (other.startswith(f"{room}.") and modules()[module].name == "__init__.py"):
                by_room[room].add(other)
    assert circles(by_room) == []


def test_presentation_is_imported_by_nothing_below_it() -> None:
    """Notebooks get their view by a registry; only the package itself and the tools import it."""
    importers = {module for module in modules() if "flowalg.notebook.html" in set(imports_of(module))}
    assert {module for module in importers if not module.startswith("flowalg_tools")} <= {"flowalg"}


def test_the_core_imports_no_other_package() -> None:
    """And the shard knows no engine, and nothing imports the tools."""
    for module in modules():
        package, imported = module.partition(".")[0], set(imports_of(module))
        above = {name for name in imported if name.partition(".")[0] != package}
        if package == "flowalg":
            assert not above, module
        if package == "flowalg_shard":
            assert {name.partition(".")[0] for name in above} <= {"flowalg"}, module
        if not package.startswith(("flowalg_tools", "flowalg_development")):
            assert not any(name.startswith(("flowalg_tools", "flowalg_development")) for name in above), (
                module
            )


def test_rooms_are_small() -> None:
    """No folder has more than about fifteen modules."""
    sizes = Counter(room_of(module) for module, path in modules().items() if path.name != "__init__.py")
    assert {room: size for room, size in sizes.items() if size > MOST_MODULES} == {}
