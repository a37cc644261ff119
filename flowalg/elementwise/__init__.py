"""Element-wise transforms: user functions, and the steps that apply them to elements."""
