"""The contents of the windows of a grouping, as tables: of columns, of bags of values, and of objects."""
