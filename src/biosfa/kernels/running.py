"""Running moments of outputs: S of the outputs and D of their differences have weights of their own."""

# Entries of the total weights of S and D. An episode's first sample has no difference.
CURRENT = 0
DIFFERENCE = 1
