"""How laws are stated, generated for and checked."""
