"""Which dictionaries and sets of a module are constants of lifted functions: those that it only reads."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import pytest

from flowalg.lifting.tree.expressions import first_opaque
from tests.core.test_lifting import lift_edge_function, load

READ = (
    "def f(e): return D[e.s]",
    "def f(e): return D.get(e.s, 0)",
    "def f(e): return e.s in D",
    "def f(e): return D[e.s]\nprint([*D.items(), *(key for key in D)], len(D), dict(D), 'a' not in D)",
    "def f(e): return D[e.s]\nfor key in D: print(D[key])",
    "def f(e): return D[e.s]\n__all__ = ['D', 'f']",
)
CHANGED = (
    "D['b'] = 2",
    "del D['a']",
    "D['a'] += 1",
    "D.update(b=2)",
    "D.setdefault('b', 2)",
    "D.clear()",
    "D |= {'b': 2}",
    "D = {'b': 2}",
    "E = D",
    "print(D)",
    "E = [D]",
    "def g(): return D",
    "def g(d=D): d.clear()",
    "def g():\n    global D\n    D = {}",
    "del D",
    "import os as D",
    "from os import path as D",
    "from os.path import *",
    "for D in (): pass",
    "with open(__file__) as D: pass",
    "def D(): pass",
    "class D: pass",
    "globals()['D'] = {}",
    "vars()['D'] = {}",
    "exec('D = {}')",
    "def len(d): d.clear()\nlen(D)",
    "change = D.update",
    "print(1 in D in [])",
    "match 1:\n    case D: pass",
    "try: pass\nexcept OSError as D: pass",
)


def is_constant(directory: Path, text: str) -> bool:
    """Whether the function ``f`` of a module with a text is lifted."""
    path = directory / "tables.py"
    path.write_text(text)
    linecache.checkcache(str(path))
    return first_opaque(lift_edge_function(load(path).f)) is None


@pytest.mark.parametrize("reading", READ)
def test_a_dictionary_that_its_module_only_reads_is_a_constant(tmp_path: Path, reading: str) -> None:
    """Lookups, iteration, and functions that keep no reference leave a dictionary as it is."""
    assert is_constant(tmp_path, f"D = {{'a': 1}}\n{reading}\n")


@pytest.mark.parametrize("changing", CHANGED)
def test_a_dictionary_that_its_module_may_change_stays_in_python(tmp_path: Path, changing: str) -> None:
    """An assignment, a method that changes it, another name, or a call that it is passed to may change a dictionary."""
    start = "D = {'a': 1}\ndef f(e): return D[e.s]\n"
    path = tmp_path / "tables.py"
    path.write_text(
        f"{start}if False:\n{''.join(f'    {line}' for line in changing.splitlines(keepends=True))}\n"
    )
    if "import *" in changing:
        path.write_text(f"{start}{changing}\n")
    assert first_opaque(lift_edge_function(load(path).f)) is not None


@pytest.mark.parametrize("value", ["dict(a=1)", "E", "E | {}", "make()"])
def test_a_dictionary_that_is_not_a_display_stays_in_python(tmp_path: Path, value: str) -> None:
    """What another name or a call made may be known elsewhere by another name."""
    text = f"E = {{'a': 1}}\ndef make(): return E\nD = {value}\ndef f(e): return D[e.s]\n"
    assert not is_constant(tmp_path, text)


def test_a_dictionary_of_an_enclosing_function_stays_in_python(tmp_path: Path) -> None:
    """Only the names of modules are followed."""
    assert not is_constant(
        tmp_path, "def outer():\n    D = {'a': 1}\n    return lambda e: D[e.s]\nf = outer()\n"
    )


def test_the_items_are_those_when_the_pipeline_is_compiled(tmp_path: Path) -> None:
    """What another module has changed before counts, and what it changes later has no effect."""
    path = tmp_path / "tables.py"
    path.write_text("D = {'a': 1}\ndef f(e): return D[e.s]\n")
    module = load(path)
    first = lift_edge_function(module.f)
    module.D["added"] = 2
    assert "added" not in repr(first)
    assert "added" in repr(lift_edge_function(module.f))


def test_a_read_only_view_is_a_constant_wherever_it_is(tmp_path: Path) -> None:
    """A ``MappingProxyType`` may be imported, passed on, and be an attribute of a class."""
    proxy = "from types import MappingProxyType\nclass C: D = MappingProxyType({'a': 1})\nprint(C.D)\n"
    assert is_constant(tmp_path, f"{proxy}def f(e): return C.D[e.s]\n")
    assert is_constant(tmp_path, f"{proxy}def outer(d): return lambda e: d.get(e.s)\nf = outer(C.D)\n")


IMPORTING = (
    "from tables import D\ndef f(e): return D[e.s]",
    "from tables import D as E, E as D\ndef f(e): return E[e.s]",
    "from inner import D\ndef f(e): return D[e.s]",
)
CHANGED_ELSEWHERE = (
    ("", "from tables import D\ndef f(e): return D[e.s]\ndef g(): D.clear()"),
    ("", "from tables import D\ndef f(e): return D[e.s]\nC = D"),
    ("", "if True:\n    from tables import D\ndef f(e): return D[e.s]"),
    ("def g(): D.clear()", "from tables import D\ndef f(e): return D[e.s]"),
    ("def g(): D.clear()", "from inner import D\ndef f(e): return D[e.s]"),
    ("E = D", "from tables import D\ndef f(e): return D[e.s]"),
)


def is_imported_constant(
    directory: Path, monkeypatch: pytest.MonkeyPatch, tables: str, importing: str
) -> bool:
    """Whether a function that uses a dictionary of another module is lifted."""
    for name, text in {
        "tables": f"D = {{'a': 1}}\nE = 3\n{tables}\n",
        "inner": "from tables import D\n",
    }.items():
        (directory / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        linecache.checkcache(str(directory / f"{name}.py"))
    monkeypatch.syspath_prepend(directory)
    path = directory / "using.py"
    path.write_text(importing)
    linecache.checkcache(str(path))
    try:
        return first_opaque(lift_edge_function(load(path).f)) is None
    finally:
        for name in ("tables", "inner"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("importing", IMPORTING)
def test_an_imported_dictionary_that_both_modules_only_read_is_a_constant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, importing: str
) -> None:
    """It may have another name, and come through a third module."""
    assert is_imported_constant(tmp_path, monkeypatch, "", importing)


@pytest.mark.parametrize(("tables", "importing"), CHANGED_ELSEWHERE)
def test_an_imported_dictionary_that_a_module_may_change_stays_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: str, importing: str
) -> None:
    """Neither the module that makes a dictionary nor one that imports it may use it in another way."""
    assert not is_imported_constant(tmp_path, monkeypatch, tables, importing)


def test_a_dictionary_of_a_module_that_was_edited_stays_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the functions of a module do is known only if the file has their code."""
    path = tmp_path / "edited.py"
    path.write_text("D = {'a': 1}\ndef g(): D.clear()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "edited", load(path))
    path.write_text("D = {'a': 1}\ndef g(): return 1\n")
    linecache.checkcache(str(path))
    assert not is_constant(tmp_path, "from edited import D\ndef f(e): return D[e.s]\n")
