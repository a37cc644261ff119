"""What is claimed: the features with what a program must get, and the cell of each peer with what it gets."""
