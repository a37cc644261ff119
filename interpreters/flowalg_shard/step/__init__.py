"""One instant of a grouping over tables: arrival, contents, triggers, panes."""
