"""Exact SFA: moments of a time series or of samples on a graph, and the eigenproblem that is solved from them."""

from biosfa.kernels.exact.eigen import (
    PrincipalAxes,
    SlowDirections,
    check_determined,
    dependent_columns,
    fixed_signs,
    principal_axes,
    principal_directions,
    reciprocal,
    redundant_columns,
    slow_directions,
    slow_directions_within,
    to_unit_variance,
    why_undetermined,
)
from biosfa.kernels.exact.graph import Rows, accumulate_groups, accumulate_pairs, accumulate_samples
from biosfa.kernels.exact.lagged import LaggedSums, accumulate_lagged
from biosfa.kernels.exact.moments import Moments, as_correlations, block_rows, row_epsilon
from biosfa.kernels.exact.series import Tail, accumulate, differences
from biosfa.kernels.exact.uneven import (
    UNIT_STEPS,
    Waiting,
    accumulate_samples_at,
    accumulate_uneven,
    completed,
    slowness_at,
)

__all__ = [
    "UNIT_STEPS",
    "LaggedSums",
    "Moments",
    "PrincipalAxes",
    "Rows",
    "SlowDirections",
    "Tail",
    "Waiting",
    "accumulate",
    "accumulate_groups",
    "accumulate_lagged",
    "accumulate_pairs",
    "accumulate_samples",
    "accumulate_samples_at",
    "accumulate_uneven",
    "as_correlations",
    "block_rows",
    "check_determined",
    "completed",
    "dependent_columns",
    "differences",
    "fixed_signs",
    "principal_axes",
    "principal_directions",
    "reciprocal",
    "redundant_columns",
    "row_epsilon",
    "slow_directions",
    "slow_directions_within",
    "slowness_at",
    "to_unit_variance",
    "why_undetermined",
]
