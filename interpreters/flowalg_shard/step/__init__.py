"""One instant of a grouping over tables: arrival, triggers, contents, panes."""
