"""Errors and warnings of this package."""

import math


class ClusterError(RuntimeError):
    """Raised when a Dask cluster cannot be used, or fails. The message is one line.

    Examples
    --------
    >>> from biosfa.exceptions import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class DivergenceError(ArithmeticError):
    """Raised when the weights of a network diverge. The model keeps the state before that update.

    Parameters
    ----------
    step : int
        Number of the update at which the weights diverged.
    learning_rate : float
        Learning rate η of that update.
    largest_stable_rate : float
        1/max‖x‖² over the samples so far. The explicit step is unstable if 2η‖x‖² > 2. Infinite if no rate is too
        large: the sample itself is, so that its square would overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import BioSFA, DivergenceError
    >>> X = 1000 * np.random.default_rng(0).standard_normal((100, 3))
    >>> try:
    ...     net = BioSFA(1, learning_rate=0.1, random_state=0).fit(X)
    ... except DivergenceError as error:
    ...     print(error.learning_rate > error.largest_stable_rate)
    True
    """

    def __init__(self, step: int, learning_rate: float, largest_stable_rate: float) -> None:
        kept = "The state before that update is kept. Look for outliers in the input"
        super().__init__(
            f"the network diverged at update {step}: its sample is too large to compute with. {kept}."
            if math.isinf(largest_stable_rate)
            else f"the network diverged at update {step}, where the learning rate was {learning_rate:.3g}; the largest "
            f"rate that is stable for the samples seen so far is {largest_stable_rate:.3g}. {kept}, use a smaller "
            'learning_rate, or use step="normalized".'
        )
        self.step = step
        self.learning_rate = learning_rate
        self.largest_stable_rate = largest_stable_rate

    def __reduce__(self) -> tuple[type["DivergenceError"], tuple[int, float, float]]:
        return type(self), (self.step, self.learning_rate, self.largest_stable_rate)


class ModelFileError(ValueError):
    """Raised when a model file is damaged, holds another kind of model, or was written by another version.

    Examples
    --------
    >>> import os, tempfile
    >>> from biosfa import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     with open(path, "w") as file:
    ...         n_written = file.write("not a model")
    ...     try:
    ...         load(path)
    ...     except ModelFileError as error:
    ...         print("is not a biosfa model" in str(error))
    True
    """


class RankDeficiencyWarning(UserWarning):
    """Some columns of the (expanded) input are constant, or linear combinations of other columns.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> X[:, 2] = 1.0
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     sfa = SFA(1).fit(X)
    >>> caught[0].category.__name__
    'RankDeficiencyWarning'
    >>> print(caught[0].message)  # doctest: +ELLIPSIS
    the (expanded) input has 3 columns but rank 2 (x2: constant)...
    """


class ConditioningWarning(UserWarning):
    """The (expanded) columns are so close to linear dependence that the features lose most of their digits.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> X[:, 2] = X[:, 1] + 1e-6 * X[:, 2]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     sfa = SFA(1).fit(X)
    >>> caught[0].category.__name__
    'ConditioningWarning'
    """


class GiveAwayWarning(UserWarning):
    """A column is a slow feature by itself: a counter, a clock, or a column that is constant within episodes.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> X[:, 0] = np.arange(100)  # a counter
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     sfa = SFA(1).fit(X)
    >>> caught[0].category.__name__
    'GiveAwayWarning'
    """


class AbsentDataWarning(UserWarning):
    """Some chunks of a Zarr array are absent, so they are read as its fill value. The store may be an incomplete copy.

    Examples
    --------
    Raise an error in place of the warning:

    >>> import warnings
    >>> import numpy as np
    >>> from biosfa import AbsentDataWarning
    >>> from biosfa.io import open_stream
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", AbsentDataWarning)
    ...     stream = open_stream(np.zeros((10, 2)))  # or a Zarr store
    """


class InputError(ValueError):
    """Raised when a file cannot be read as samples. The message names the file and the place in it.

    Examples
    --------
    >>> from biosfa import InputError
    >>> from biosfa.io import open_stream
    >>> try:
    ...     open_stream("no-such-file.csv")
    ... except InputError as error:
    ...     print(error)
    no-such-file.csv does not exist
    """


class DisconnectedGraphWarning(UserWarning):
    """A graph of neighbours has several parts without connection.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from biosfa.graphs import nearest_neighbour_graph
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     graph = nearest_neighbour_graph(np.array([[0.0], [1.0], [100.0], [101.0]]), k=1)
    >>> caught[0].category.__name__
    'DisconnectedGraphWarning'
    """


class OutputError(OSError):
    """Raised when results cannot be written to a path. The message names the path and the reason."""


class MissingExtraError(ImportError):
    """Raised when an optional library is not installed. The message says what to install.

    Examples
    --------
    >>> from biosfa.exceptions import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class ShortCalibrationWarning(UserWarning):
    """There are too few rows of normal operation for limits that hold. The message says how many would do.

    Examples
    --------
    >>> import warnings
    >>> from biosfa.datasets import stirred_tank
    >>> from biosfa.monitoring import SlowFeatureMonitor
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     monitor = SlowFeatureMonitor().fit(stirred_tank(500, random_state=0).samples)
    >>> caught[0].category.__name__
    'ShortCalibrationWarning'
    """


class ShortEpisodeWarning(UserWarning):
    """Some episodes have too few samples to learn from.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     sfa = SFA(1).fit(X, lengths=[1, 99])
    >>> print(caught[0].message)
    1 of 2 episodes have fewer than 2 samples: nothing can be learned from them
    """


class ShortRecordingWarning(UserWarning):
    """The recording is too short for intervals that hold. The message says how many rows would do.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from biosfa.selection import implied_timescales
    >>> walk = np.random.default_rng(0).standard_normal((1000, 2)).cumsum(axis=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = implied_timescales(walk)
    >>> caught[0].category.__name__
    'ShortRecordingWarning'
    """


class SuspiciousRowsWarning(UserWarning):
    """Some rows of normal operation look as if something had happened. The message names rows, times and columns.

    Examples
    --------
    >>> import warnings
    >>> from biosfa.datasets import stirred_tank
    >>> from biosfa.monitoring import SlowFeatureMonitor
    >>> faulty = stirred_tank(12_000, fault="stuck_valve", start=8000, random_state=0).samples
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     monitor = SlowFeatureMonitor(n_delays=2).fit(faulty)
    >>> caught[-1].category.__name__
    'SuspiciousRowsWarning'
    """


class UserError(Exception):
    """Raised for a mistake that the user of the command can correct. The message is one line."""
