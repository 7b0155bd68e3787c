"""Episodes from one label or number per row, which scikit-learn can split together with the rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biosfa.floats import unmasked

MISSING = ("nan", "None", "<NA>", "NaT")  # as pandas and NumPy print them


def lengths_of(
    X: Any, lengths: ArrayLike | None, episode: ArrayLike | None, index: ArrayLike | None
) -> ArrayLike | None:
    """Return the number of rows of each episode of X.

    An episode ends where the label ``episode`` changes, and where ``index``, the number of the row in the recording,
    does not increase by 1. Without both, the result is ``lengths``.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.episodes import lengths_of
    >>> X = np.zeros((5, 1))
    >>> lengths_of(X, None, ["a", "a", "b", "b", "b"], [0, 1, 2, 3, 7]).tolist()
    [2, 2, 1]
    """
    if episode is None and index is None:
        return lengths
    if lengths is not None:
        raise ValueError("lengths cannot be used with episode or index: give one or the other")
    n_rows: Any = np.shape(X)[0] if np.ndim(X) else None  # a stream has no shape
    begins: Any = False
    for name, values in (("episode", episode), ("index", index)):
        if values is None:
            continue
        each = unmasked(values)
        if n_rows is None:
            raise ValueError(f"{name} is for arrays: give episodes of a stream to open_stream, as episodes")
        if not isinstance(n_rows, int | np.integer):  # Dask does not know it before it has read a frame
            n_rows = len(each)
        if each.shape != (n_rows,):
            raise ValueError(f"{name} must have one value per row of X, {n_rows}; got the shape {each.shape}")
        if np.isin(each.astype(str), MISSING).any():
            raise ValueError(f"{name} has missing values: give one per row")
        if name == "index" and each.dtype.kind not in "iu":
            raise ValueError(f"index must have the number of each row in the recording; got {each.dtype}")
        begins = begins | (each[1:] != each[:-1] + 1 if name == "index" else each[1:] != each[:-1])
    cuts = np.flatnonzero(np.concatenate([[True], begins]))
    return np.diff(np.append(cuts, len(begins) + 1))
