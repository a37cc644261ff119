"""The one reader of text: lines and cells as the fields of records, strictly, with the reason for each that is none.

Files, messages, the command line and Spark read with it, so a text has one meaning. ``scalars`` reads one text as a
value, ``json_objects`` objects, ``csv_files`` the records of CSV, and ``files`` whole files. Each has an exact reading
in Python, which defines the meaning, and one of many texts at once, which gives the same values or nothing;
``dividing`` combines the two.
"""
