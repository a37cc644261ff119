"""Tables as values, and the databases that are targets of sinks."""
