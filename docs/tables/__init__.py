"""Pages of the documentation that are generated from the code: ``make docs`` writes them, a test compares them."""
