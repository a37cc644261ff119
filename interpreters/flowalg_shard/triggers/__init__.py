"""Triggers over tables: what they keep of elements, and the automaton of a compiled trigger."""
