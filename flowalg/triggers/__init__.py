"""Triggers: their syntax, their normal form, and their description in English."""
