"""The choice of the precision of products."""

from typing import Any

import numpy as np

from biosfa.typing import Float64Array


def precision_for(weights: Float64Array, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which samples of type ``dtype`` can be multiplied with weights: float64 where these do not fit.

    Weights are as large as samples are small. Those of float32 samples below 1e-38 are infinite in float32.
    """
    largest = np.abs(weights).max(initial=0.0)
    return dtype if largest <= np.finfo(dtype).max else np.dtype(np.float64)
