"""A real cluster on this machine, and queries on it while its processes are killed."""
