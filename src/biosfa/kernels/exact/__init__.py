"""Exact SFA: moments of a stream, and the eigenproblem that is solved from them."""

from biosfa.kernels.exact.eigen import (
    PrincipalAxes,
    SlowDirections,
    dependent_columns,
    fixed_signs,
    principal_axes,
    principal_directions,
    reciprocal,
    redundant_columns,
    slow_directions,
    slow_directions_within,
    to_unit_variance,
)
from biosfa.kernels.exact.moments import Moments, accumulate, block_rows, differences

__all__ = [
    "Moments",
    "PrincipalAxes",
    "SlowDirections",
    "accumulate",
    "block_rows",
    "dependent_columns",
    "differences",
    "fixed_signs",
    "principal_axes",
    "principal_directions",
    "reciprocal",
    "redundant_columns",
    "slow_directions",
    "slow_directions_within",
    "to_unit_variance",
]
