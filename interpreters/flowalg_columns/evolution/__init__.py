"""Evolutions of the state of stages: tables of an old structure become tables of the new one."""
