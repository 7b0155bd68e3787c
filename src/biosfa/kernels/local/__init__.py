"""The paper's network, with local rules: for small networks, for large ones, and for parallel streams."""

from biosfa.kernels.local import settled
from biosfa.kernels.local.dynamics import respond_to_all, settle, settle_interneurons
from biosfa.kernels.local.lines import (
    LOOK_BACK,
    WINDOWS,
    add_scatter_of_columns,
    blend_rows,
    centre,
    shortening,
)
from biosfa.kernels.local.rules import LEAST_INHIBITION, RULES, Rule, has_interneurons, is_nonnegative, shares
from biosfa.kernels.local.state import Mode, State, initial_state

__all__ = [
    "LEAST_INHIBITION",
    "LOOK_BACK",
    "RULES",
    "WINDOWS",
    "Mode",
    "Rule",
    "State",
    "add_scatter_of_columns",
    "blend_rows",
    "centre",
    "has_interneurons",
    "initial_state",
    "is_nonnegative",
    "respond_to_all",
    "settle",
    "settle_interneurons",
    "settled",
    "shares",
    "shortening",
]
