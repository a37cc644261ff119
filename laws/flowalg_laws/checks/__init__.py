"""Checks of laws: strategies for their variables, one call for each kind of part, and differences of triggers."""
