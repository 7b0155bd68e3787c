"""The paper's offline algorithm: gradient descent and ascent on covariances."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from biosfa import metrics
from biosfa.episodes import labelled_like, rows_of
from biosfa.exceptions import DivergenceError
from biosfa.kernels.exact import slow_directions
from biosfa.kernels.precision import precision_for
from biosfa.learning import LearningRate, Recorder, check_learning_rate, rates
from biosfa.objectives import offline_objective
from biosfa.typing import Float64Array, FloatArray
from biosfa.validation import check_count, check_positive, check_samples, unchanged_on_error

# An objective of this size means that the weights diverge; at the optimum it is −Σ(4 − δ)²/2.
RUNAWAY = 1e100


class OfflineBioSFA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Bio-SFA that learns from the covariances of the whole data (Sec. 4.2 of Lipshutz et al. 2020).

    Slow feature analysis is the saddle point of a min-max objective. The algorithm descends the objective in W and
    ascends it in M: W ← W + 2η(M⁻¹WC_x̄x̄ − WC_xx), M ← M + (η/τ)(M⁻¹WC_x̄x̄WᵀM⁻¹ − M). At the fixed point
    M = Q(4I − Λ)Qᵀ, where Λ is the diagonal matrix of the slowness values, the features V = WᵀM⁻¹ are white, and
    W = MVᵀ.

    Parameters
    ----------
    n_components : int, default=2
        Number of features k.
    learning_rate : "auto", float, schedule or callable, default="auto"
        η: a number, :class:`InverseTime`, :class:`Annealed`, or a function of the step number t = 1, 2, … "auto" scales
        the input to unit mean variance. It then takes half of the largest stable rate, 1/λ_max(C_xx), or τ/2 if that is
        smaller.
    tau : float, default=0.5
        τ, the ratio of the rates of W and M. η must stay below τ, so that M stays positive definite. With
        ``learning_rate="auto"``, τ refers to the scaled input.
    max_iter : int, default=10000
        Largest number of steps.
    tol : float, default=1e-9
        Stop when the largest change of a weight in a step, divided by the largest weight and by the rate, is below this
        value.
    random_state : int, RandomState or None, default=None
        Seed of the initial W.

    Attributes
    ----------
    W_, M_ : arrays of shape (n_components, n_features) and (n_components, n_components)
        Feedforward and lateral weights.
    components_ : array of shape (n_components, n_features)
        Directions of the features, the slowest first.
    delta_values_ : array of shape (n_components,)
        Slowness δ of the features.
    objective_ : array of shape (number of steps,)
        The min-max objective before each step, at the optimal outputs.
    n_iter_ : int
        Number of steps made.
    converged_ : bool
        Whether ``tol`` was reached.
    mean_ : array of shape (n_features,)
        Mean of the input.
    n_features_in_ : int
        Number of input columns.

    See Also
    --------
    BioSFA : The same network, learning online.
    SFA : The exact solution.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA, OfflineBioSFA
    >>> t = np.arange(2000)
    >>> X = np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 50) - np.sin(t / 3)], axis=1)
    >>> offline = OfflineBioSFA(n_components=1, random_state=0).fit(X)
    >>> bool(np.isclose(offline.delta_values_, SFA(1).fit(X).delta_values_)[0])
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        learning_rate: LearningRate = "auto",
        tau: float = 0.5,
        max_iter: int = 10_000,
        tol: float = 1e-9,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.tau = tau
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        recorder: Recorder | None = None,
    ) -> Self:
        """Learn W and M by gradient steps on the covariances of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples in order of time.
        y : ignored
        lengths : array-like of int, optional
            Number of rows of each episode in X. By default X is one episode.
        recorder : Recorder, optional
            Records W and M at some of the steps.

        Returns
        -------
        self

        Raises
        ------
        DivergenceError
            If the learning rate is too large.
        """
        check_learning_rate(self.learning_rate)
        k = check_count("n_components", self.n_components)
        check_count("max_iter", self.max_iter)
        check_positive("tau", self.tau)
        with unchanged_on_error(self):
            samples, sizes, _ = rows_of(X, lengths)
            samples = check_samples(self, samples, reset=True, min_samples=2)
            return self._descend(samples, sizes, k, recorder)

    def _descend(self, X: FloatArray, lengths: ArrayLike | None, k: int, recorder: Recorder | None) -> Self:
        m = X.shape[1]
        if k > m:
            raise ValueError(f"n_components={k} exceeds the number of features, n_features = {m}")
        moments = metrics.moments(X, lengths)
        metrics.slowest(moments, k)  # raises if k exceeds the rank
        # "auto" works on input of unit mean variance
        unit = float(np.trace(moments.covariance)) / m if isinstance(self.learning_rate, str) else 1.0
        C_xx, C_dot = moments.covariance / unit, moments.difference_covariance / unit
        C_bar = 4.0 * C_xx - C_dot
        largest = float(np.linalg.eigvalsh(C_xx)[-1])
        eta = self._rates(largest)
        rng = check_random_state(self.random_state)
        W, M = rng.standard_normal((k, m)) / np.sqrt(m), np.eye(k)
        objective: list[float] = []
        converged = False
        for rate in eta:
            objective.append(offline_objective(W, M, C_xx, C_bar))
            if not abs(objective[-1]) < RUNAWAY:
                raise DivergenceError(len(objective), float(rate), 1.0 / largest)
            V = np.linalg.solve(M, W)
            W_change = 2.0 * rate * (V @ C_bar - W @ C_xx)
            M_change = rate / self.tau * (V @ C_bar @ V.T - M)
            W, M = W + W_change, M + M_change
            if recorder is not None and recorder.is_due(len(objective)):
                recorder.record(len(objective), W / np.sqrt(unit), M)
            change = max(np.abs(W_change).max() / np.abs(W).max(), np.abs(M_change).max() / np.abs(M).max())
            if change <= self.tol * rate:
                converged = True
                break
        solution = slow_directions(W @ C_xx @ W.T, W @ C_dot @ W.T)
        W /= np.sqrt(unit)
        self.W_, self.M_, self.mean_ = W, M, moments.mean
        self.objective_ = np.array(objective)
        self.n_iter_ = len(objective)
        self.converged_ = converged
        self.components_: Float64Array = solution.directions @ W
        self.delta_values_ = solution.delta_values
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the slow features of X, an array of shape (n_samples, n_components), the slowest first."""
        check_is_fitted(self)
        samples = check_samples(self, rows_of(X, ordered=False).samples, reset=False)
        dtype = precision_for(self.components_, samples.dtype)
        Y: FloatArray = np.subtract(samples, self.mean_).astype(dtype, copy=False) @ self.components_.T.astype(dtype)
        return labelled_like(X, Y.astype(samples.dtype, copy=False), self.get_feature_names_out)  # type: ignore[no-any-return]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _rates(self, largest_variance: float) -> Float64Array:
        if isinstance(self.learning_rate, str):
            return rates(0.5 * min(1.0 / largest_variance, self.tau), 1, self.max_iter)
        eta = rates(self.learning_rate, 1, self.max_iter)
        if not 0.0 < eta.max() < self.tau:
            raise ValueError(
                f"the learning rate must be positive and stay below tau={self.tau}, so that M stays positive definite; "
                f"it reaches {eta.max():.3g}. Use a smaller learning_rate or a larger tau"
            )
        return eta
