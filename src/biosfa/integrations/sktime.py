"""Slow features in sktime: a transformer of series, for which the instances of a panel are episodes."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from biosfa import estimators
from biosfa.episodes import JUMP, begins_series, episode_lengths
from biosfa.extras import imported
from biosfa.typing import BoolArray, IntArray

BaseTransformer: Any = imported("sktime.transformations.base", "sktime", least="1.0").BaseTransformer


class SlowFeatures(BaseTransformer):
    """Exact slow feature analysis (:class:`biosfa.SFA`) as a transformer of series in sktime.

    Each instance of a panel is an episode: no difference is taken from one instance to the next. The same holds for
    gaps in the time index, that is steps longer than 1.5 times the usual one. The methods are those of every
    transformer of sktime: ``fit``, ``transform``, ``fit_transform`` and ``update``.

    Parameters
    ----------
    n_components : int, optional
        Number of features. By default the rank of the (expanded) series.
    pca : int, optional
        Reduce the series to this number of principal components before the expansion.
    expansion : None, "quadratic" or transformer, default=None
        Nonlinear expansion of each (delayed) sample.
    n_delays : int, default=1
        Number of consecutive samples in a delay vector. Rows without all their delays have NaN as features.
    lag : int, default=1
        Distance in time, in samples, between the two samples of a difference.
    ridge : float, default=0.0
        Variance of white noise, as a share of the mean variance. It removes slow features of tiny variance.
    missing : {"raise", "break"}, default="raise"
        What to do with a row that contains a NaN. "break" skips the row and ends the episode there.

    Attributes
    ----------
    sfa_ : biosfa.SFA
        The fitted model, with its slowness, patterns and weights.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from biosfa.integrations.sktime import SlowFeatures
    >>> t = np.arange(2000)
    >>> slow, fast = np.sin(t / 50), np.sin(t / 3)
    >>> X = pd.DataFrame({"left": slow + fast, "right": slow - fast})
    >>> features = SlowFeatures(n_components=1).fit_transform(X)
    >>> float(abs(np.corrcoef(features["sfa0"], slow)[0, 1]).round(3))
    1.0
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": "biosfa developers",
        "maintainers": "biosfa developers",
        "X_inner_mtype": ["pd.DataFrame", "pd-multiindex", "pd_multiindex_hier"],
        "scitype:instancewise": False,
        "fit_is_empty": False,
        "transform-returns-same-time-index": True,
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:categorical_in_X": False,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        pca: int | None = None,
        expansion: Any = None,
        n_delays: int = 1,
        lag: int = 1,
        ridge: float = 0.0,
        missing: str = "raise",
    ) -> None:
        self.n_components = n_components
        self.pca = pca
        self.expansion = expansion
        self.n_delays = n_delays
        self.lag = lag
        self.ridge = ridge
        self.missing = missing
        super().__init__()
        self.set_tags(**{"capability:missing_values": missing == "break"})

    def _fit(self, X: Any, y: object = None) -> Self:
        steps = np.diff(_times(X))[~begins_series(X.index)[1:]]
        self._longest_step = JUMP * float(np.median(steps)) if len(steps) else np.inf
        self._last_time: int | None = None  # of the episode that is open
        self.sfa_ = estimators.SFA(**self.get_params(deep=False))
        self._update(X)
        check_is_fitted(self.sfa_, msg="X is too short, or it varies in fewer dimensions than n_components")
        return self

    def _update(self, X: Any, y: object = None) -> Self:
        starts = self._starts(X)
        if X.index.nlevels == 1:
            step = np.inf if self._last_time is None else _times(X)[0] - self._last_time
            starts[0] = not 0 < step <= self._longest_step
        self.sfa_.partial_fit(X.reset_index(drop=True), starts=starts)
        self._last_time = int(_times(X)[-1]) if X.index.nlevels == 1 else None
        return self

    def _transform(self, X: Any, y: object = None) -> Any:
        lengths = episode_lengths(self._starts(X))
        features = self.sfa_.transform(X.reset_index(drop=True), lengths=lengths)
        return type(X)(features, index=X.index, columns=self.sfa_.get_feature_names_out())

    def _starts(self, X: Any) -> BoolArray:
        """Return which rows begin an episode: the first rows of instances, and rows after a gap in time."""
        starts = begins_series(X.index)
        starts[1:] |= np.diff(_times(X)) > self._longest_step
        return starts

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for the conformance checks of sktime.

        Parameters
        ----------
        parameter_set : str, default="default"
            Name of the set: there is only one.

        Returns
        -------
        list of dict
        """
        return [{"n_components": 1}, {"n_components": 1, "expansion": "quadratic", "missing": "break"}]


def _times(X: Any) -> IntArray:
    """Return the time of each row as a number: of its period, of nanoseconds, or as it is."""
    times = X.index.get_level_values(-1)
    numbers: IntArray = (times.as_unit("ns") if hasattr(times, "as_unit") else times).astype("int64").to_numpy()
    return numbers
