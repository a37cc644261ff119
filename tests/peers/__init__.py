"""The model and its peers: programs that show what each system does, and the table of them (``docs/peers.md``)."""
