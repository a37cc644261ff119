"""Elements as Spark columns, as SQL text: types, layouts, conversion to and from Arrow and JSON, metadata columns."""
