"""Checks of the input for samples at uneven times."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.io import Stream
from biosfa.kernels.exact import UNIT_STEPS, Waiting
from biosfa.typing import Arrays
from biosfa.validation import checked_array

if TYPE_CHECKING:
    from biosfa.estimators._base import SlowFeatureEstimator


def check_uneven(
    estimator: "SlowFeatureEstimator", X: Any, time: ArrayLike | bool | None, sample_weight: ArrayLike | None
) -> None:
    """Raise ValueError if an estimator cannot learn from this input with times."""
    for name in ("lag", "n_delays"):
        if getattr(estimator, name) != 1:
            raise ValueError(
                f"time needs {name}=1, because rows are not equally far apart in time; got {name}="
                f"{getattr(estimator, name)}"
            )
    if sample_weight is not None:
        raise ValueError("time and sample_weight cannot be used together: times give the samples their weights")
    if not isinstance(X, Stream):
        if time is True:
            raise ValueError(
                "time=True takes the times of X, but X is an array without any: give the times of its rows"
            )
        return
    if time is not True:
        raise ValueError("X is a stream, which has its own times: open it with time=COLUMN, and use time=True")
    if X.reading.time is None or X.reading.max_step is None:
        raise ValueError(
            "time=True needs a stream that was opened with time, the column of time, and with max_step, the longest "
            "step that is not a gap (numpy.inf: no step is a gap)"
        )


def waiting_in(arrays: Arrays, prefix: str, n_features: int) -> Waiting | None:
    """Return what waits for the next rows, from the arrays of a file whose names begin with ``prefix``; None without.

    Raises
    ------
    ValueError
        If the arrays do not fit ``n_features`` columns.
    """
    if f"{prefix}row" not in arrays:
        return None
    m = n_features
    shapes: dict[str, tuple[int, ...]] = {
        "row": (min(1, len(arrays[f"{prefix}row"])), m),
        "step": (min(1, len(arrays[f"{prefix}step"])),),
        "alone_mean": (m,),
        "alone_scatter": (m, m),
        "first_steps": (min(UNIT_STEPS, len(arrays[f"{prefix}first_steps"])),),
    }
    found = {name: checked_array(f"{prefix}{name}", arrays, shape) for name, shape in shapes.items()}
    found["n_alone"] = checked_array(f"{prefix}n_alone", arrays, (1,), np.int64)
    if found["n_alone"][0] < 0 or not all((found[name] > 0.0).all() for name in ("step", "first_steps")):
        raise ValueError(f"the arrays {prefix}… are not those of a series at uneven times")
    return Waiting.of(found)
