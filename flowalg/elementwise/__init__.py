"""Element-wise transforms: the forms of user functions, and the steps that apply them."""
