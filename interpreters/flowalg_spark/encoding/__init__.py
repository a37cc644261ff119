"""How elements lie in Spark: their types, the columns of a layout, values to and from Arrow, and metadata columns."""
