"""The engine-free expression tree that a user function is lifted to, and what is known of an expression."""
