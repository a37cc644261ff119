"""Several outputs of one streaming query: rows for a later output are parked, and all are rows of one frame."""
