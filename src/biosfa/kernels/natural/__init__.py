"""The natural-gradient form of the paper's rules, on whitened input: fast, but not local."""

from biosfa.kernels.natural.network import LARGEST_BLOCK, NaturalState
from biosfa.kernels.natural.whitening import add_product, add_scatter, add_squares, whiten_full, whiten_low_rank

__all__ = [
    "LARGEST_BLOCK",
    "NaturalState",
    "add_product",
    "add_scatter",
    "add_squares",
    "whiten_full",
    "whiten_low_rank",
]
