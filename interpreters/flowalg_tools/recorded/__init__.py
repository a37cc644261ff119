"""The history of a run from the columns of a file: only the records that an explanation needs become objects."""

from flowalg_tools.recorded.history import ColumnHistory, column_history
from flowalg_tools.recorded.unsuited import UnsuitedDataError

__all__ = ["ColumnHistory", "UnsuitedDataError", "column_history"]
