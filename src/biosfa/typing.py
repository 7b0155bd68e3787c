"""Names of types that appear in signatures."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Float64Array: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
ByteArray: TypeAlias = NDArray[np.uint8]
IntArray: TypeAlias = NDArray[np.int64]
Arrays: TypeAlias = dict[str, np.ndarray[Any, Any]]

Advance: TypeAlias = Callable[[int], None]  # called with the number of steps, samples or frames just learned
