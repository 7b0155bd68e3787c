"""Rows that a monitor is given, as a stream."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from biosfa.episodes import episode_starts, rows_of
from biosfa.estimators import check_columns
from biosfa.io import Stream, StreamOptions
from biosfa.io.tables import Sliced
from biosfa.validation import check_samples

if TYPE_CHECKING:
    from biosfa.monitoring._fitted import Fitted


def opened(
    monitor: "Fitted", X: ArrayLike | Stream, lengths: ArrayLike | None = None, *, reset: bool = False
) -> Stream:
    """Return an input as a stream, after checking it. Rows with missing values end episodes.

    With ``reset``, the monitor takes over the number and the names of the columns.
    """
    if isinstance(X, Stream):
        if lengths is not None:
            raise ValueError("lengths cannot be used with a stream: give them to open_stream, as episodes")
        if not reset:
            for fitted in (monitor, monitor.model_):
                check_columns(fitted, X)
            return X
        monitor.n_features_in_ = X.n_features
        monitor.__dict__.pop("feature_names_in_", None)
        if X.named:
            monitor.feature_names_in_ = np.asarray(X.feature_names, dtype=object)
        return X
    rows, lengths, _ = rows_of(X, lengths)
    samples = check_samples(monitor, rows, reset=reset, min_samples=2 if reset else 1, allow_nan=True)
    episode_starts(len(samples), lengths, open_episode=False)  # checks the lengths
    sizes = None if lengths is None else np.asarray(lengths).tolist()
    names = [str(name) for name in getattr(monitor, "feature_names_in_", [])]
    return StreamOptions(episodes=sizes, missing="break").open(Sliced("X", samples, names or None))
