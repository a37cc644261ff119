"""The laws of the algebra, one module for each part."""
