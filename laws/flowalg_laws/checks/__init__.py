"""Checks of laws: values for their variables, one call for a law or for a part of your own, differences of triggers."""
