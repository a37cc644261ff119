"""Elements as Spark columns: types, layouts, conversion to and from Arrow and JSON, and metadata columns."""
