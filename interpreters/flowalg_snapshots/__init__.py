"""Tables of a database as side inputs: snapshots of a table, as files that all engines read.

A table has only its current rows, so a query that read it directly could not be repeated. ``Snapshots`` stores what a
table had at regular times. A stream reads the files as they come, a batch reads the same files later, and
``latest_complete`` gives each element the rows of its time.
"""

from flowalg_snapshots.postgresql import postgresql_rows
from flowalg_snapshots.snapshots import TICK, WATERMARK, Following, ReadRows, Snapshots

__all__ = [
    "TICK",
    "WATERMARK",
    "Following",
    "ReadRows",
    "Snapshots",
    "postgresql_rows",
]
