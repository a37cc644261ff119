"""How laws are stated: equations, and the records, interpreters and scenarios that they use."""
