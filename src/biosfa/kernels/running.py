"""Running moments of outputs: the weights of S, of the outputs, and of D, of their differences."""

# Entries of the total weights of S and D. An episode's first sample has no difference.
CURRENT = 0
DIFFERENCE = 1
