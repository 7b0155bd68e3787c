"""A network with local rules that learns as fast as the natural gradient; docs/inside/local-and-fast.md derives it."""

from biosfa.kernels.fast_local.input_layer import PRIVATE_NOISE
from biosfa.kernels.fast_local.network import advance, advance_one, invert, rates
from biosfa.kernels.fast_local.output_layer import DIVISION, GUARDS
from biosfa.kernels.fast_local.state import FastLocalState, initial_state

__all__ = [
    "DIVISION",
    "GUARDS",
    "PRIVATE_NOISE",
    "FastLocalState",
    "advance",
    "advance_one",
    "initial_state",
    "invert",
    "rates",
]
