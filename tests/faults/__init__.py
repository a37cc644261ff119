"""Faults for real: a query is disturbed in some way, goes on from its checkpoint, and its output is judged.

A subject (``subject``) is a query that a process of its own runs, a fault (``harness``) strikes it while it runs, and a
judge compares what it has written with undisturbed runs, or with the reference interpreter.
"""
