"""Outputs that learn with local rules, as fast as the natural gradient; docs/inside/local-and-fast.md derives them.

They learn from an input layer; see :mod:`biosfa.kernels.input_layer`.
"""

from biosfa.kernels.fast_local.outputs import DIVISION, learn, rates
from biosfa.kernels.fast_local.single import learn_one
from biosfa.kernels.fast_local.state import GUARDS, OutputState, initial_state

__all__ = ["DIVISION", "GUARDS", "OutputState", "initial_state", "learn", "learn_one", "rates"]
