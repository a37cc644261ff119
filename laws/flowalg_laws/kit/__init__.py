"""How laws are stated: equations and the readings, interpreters and situations that they speak of."""
