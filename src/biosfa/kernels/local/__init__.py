"""The paper's network, with local rules: for small networks, for large ones, and for parallel streams."""

from biosfa.kernels.local.lines import (
    LEAST_INHIBITION,
    LOOK_BACK,
    WINDOWS,
    add_scatter_of_columns,
    blend_rows,
    centre,
    respond_to_all,
    settle,
    settle_interneurons,
    shares,
    shortening,
)
from biosfa.kernels.local.state import (
    CURRENT,
    DIFFERENCE,
    MEAN_POWER,
    PEAK_POWER,
    STABLE_TAU,
    VARIANCE,
    Mode,
    State,
    initial_state,
)

__all__ = [
    "CURRENT",
    "DIFFERENCE",
    "LEAST_INHIBITION",
    "LOOK_BACK",
    "MEAN_POWER",
    "PEAK_POWER",
    "STABLE_TAU",
    "VARIANCE",
    "WINDOWS",
    "Mode",
    "State",
    "add_scatter_of_columns",
    "blend_rows",
    "centre",
    "initial_state",
    "respond_to_all",
    "settle",
    "settle_interneurons",
    "shares",
    "shortening",
]
