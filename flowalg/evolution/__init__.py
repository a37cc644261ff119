"""The evolution of types whose values are in state, between versions of a program (``docs/state.md``)."""

from flowalg.evolution.declared import RenamedFrom, evolves

__all__ = ["RenamedFrom", "evolves"]
