"""What the exact learners share: moments, and the eigenproblem that is solved from them when features are read."""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from biosfa.estimators._base import SlowFeatureEstimator
from biosfa.estimators._memory import check_memory
from biosfa.estimators._way_back import Joint, WayBack, joint_of
from biosfa.exceptions import ConditioningWarning, RankDeficiencyWarning
from biosfa.graphs import Graph
from biosfa.io import Stream
from biosfa.kernels.exact import (
    Moments,
    Rows,
    dependent_columns,
    redundant_columns,
    slow_directions,
    why_undetermined,
)
from biosfa.signal import begins_with_input
from biosfa.typing import Arrays, Float64Array, FloatArray, IntArray
from biosfa.validation import check_count, check_positive, checked_array
from biosfa.wording import counted, listed

# Condition number of the correlations from which on the loss of digits is worth a warning.
ILL_CONDITIONED = 1e11

# Mean square, times a weight, from which on it has twelve digits: squares are rounded to multiples of 5e-324.
LEAST_SQUARE = 5e-312

# Slowness of a column from which on unequal weights leave few digits to its variance. With equal weights it is about 4.
LARGEST_SLOWNESS = 1e12


class ExactEstimator(WayBack, SlowFeatureEstimator):
    """Base class of the estimators that solve the eigenproblem of moments."""

    ridge: float
    _moments: Moments  # never changed in place: learning assigns new ones
    _solution: "Solution | None" = None  # may belong to older moments

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters. A new ``ridge`` takes effect when the features are next read."""
        super().set_params(**parameters)
        if "ridge" in parameters:
            self._solution = None
        return self

    @property
    def components_(self) -> Float64Array:
        """Directions in the expanded signal, the slowest first."""
        return self._features_found().components

    @property
    def delta_values_(self) -> Float64Array:
        """Slowness δ of the features."""
        return self._features_found().delta_values

    @property
    def rank_(self) -> int:
        """Numerical rank of the expanded signal."""
        return self._solved().rank

    @property
    def redundant_features_(self) -> IntArray:
        """Columns that are constant, or linear combinations of the other columns."""
        return self._solved().redundant_features

    @property
    def mean_(self) -> Float64Array:
        """Mean of the expanded signal."""
        return self._moments.mean.copy()

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples of the expanded signal seen so far."""
        return self._moments.n_samples

    def __sklearn_is_fitted__(self) -> bool:
        return self._started and len(self._solved().components) > 0

    def _check_parameters(self) -> None:
        self._check_signal_parameters()
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        check_positive("ridge", self.ridge, zero=True)

    def _reset(self, *, dtype: DTypeLike, n_streams: int) -> None:
        m = self._signal.n_features_out
        check_memory(m)
        self._moments = Moments(m)
        self._solution = None

    def _features_found(self) -> "Solution":
        solution = self._solved() if self._started else None
        if solution is None or not len(solution.components):
            raise AttributeError(f"there are no features yet: {self.why_too_little()}")
        return solution

    def why_too_little(self) -> str | None:
        """Return why the samples so far are too few for features that mean something; None if they are enough."""
        if not self._started or self._moments.n_pairs == 0:
            return "there are too few samples: no two of them make a pair. Give more rows, with fewer gaps"
        solution = self._solved()
        if solution.rank < (self.n_components or 1):
            return (
                f"n_components={self.n_components or 1} exceeds the rank {solution.rank} of the (expanded) input: ask "
                "for fewer components, or give more varied samples"
            )
        return self._why_undetermined(self._moments.n_pairs, solution.rank)

    def _why_undetermined(self, n_pairs: int, rank: int) -> str | None:
        why = why_undetermined(n_pairs, rank) if self.ridge == 0.0 else None  # noise changes in every pair
        return None if why is None else f"{why}, or use ridge=1e-3 (--ridge 1e-3)"

    def _solved(self) -> "Solution":
        """Return the solution for the present moments, which is computed once per change.

        One assignment publishes it, so that several threads may read: all of them find the same numbers.
        """
        solution, moments = self._solution, self._moments
        if solution is None or solution.moments is not moments:
            solution = self._solve(moments)
            self._solution = solution
        return solution

    def _map(self) -> tuple[Float64Array, Float64Array]:
        solution = self._features_found()  # read once: another thread may learn meanwhile
        return solution.moments.mean, solution.components

    def _solve(self, moments: Moments) -> "Solution":
        """Return the features for some moments; none if there are too few samples or the rank is too low."""
        m = moments.n_features
        if moments.n_pairs == 0:
            return Solution.of(moments, np.empty((0, m)), np.empty(0), 0, np.arange(m))
        _check_sizes(moments)
        C_xx, C_dot = moments.covariance, moments.difference_covariance
        variance = np.diag(C_xx)
        noise = np.where(variance > 0.0, self.ridge * variance.mean(), 0.0)
        np.fill_diagonal(C_xx, variance + noise)
        np.fill_diagonal(C_dot, np.diag(C_dot) + 2.0 * noise)  # the difference of white noise has twice its variance
        wanted = self._fixed["n_components"]
        found = slow_directions(C_xx, C_dot, n_components=wanted, rounding=moments.rounding)
        enough = 0 < (wanted or 1) <= found.rank
        kept = len(found.directions) if enough else 0
        redundant = redundant_columns(C_xx, found.rank)
        solution = Solution.of(moments, found.directions[:kept], found.delta_values[:kept], found.rank, redundant)
        return solution._replace(condition=found.condition)

    def _check_features(self, *, stacklevel: int) -> None:
        """Raise ValueError if there are fewer features than asked for; warn of the rank and the condition."""
        why = self.why_too_little()
        if why is not None:
            raise ValueError(why)
        solution = self._solved()
        self._warn_of_rank(solution, stacklevel + 1)
        self._warn_of_condition(solution, stacklevel + 1)

    def _warn_of_rank(self, solution: "Solution", stacklevel: int) -> None:
        m, n = self._moments.n_features, self._moments.n_samples
        if solution.rank == m:
            return
        names = self.expanded_feature_names()
        constant = np.diag(self._moments.scatter) == 0.0
        said = [f"{listed(names[constant])}: constant"] if constant.any() else []
        if n <= m:
            said.append(f"there are only {n} samples")
        elif m - np.count_nonzero(constant) > solution.rank:
            involved = dependent_columns(self._moments.covariance, solution.rank)
            redundant = np.setdiff1d(solution.redundant_features, np.flatnonzero(constant))
            said.append(f"{listed(names[redundant])}: linear combinations among {listed(names[involved])}")
        warnings.warn(
            f"the (expanded) input has {m} columns but rank {solution.rank} ({'; '.join(said)}). "
            "The features are computed with the pseudo-inverse",
            RankDeficiencyWarning,
            stacklevel=stacklevel,
        )

    def _warn_of_condition(self, solution: "Solution", stacklevel: int) -> None:
        if solution.condition < ILL_CONDITIONED:
            return
        digits = max(0, int(-np.log10(np.finfo(np.float64).eps * solution.condition)))
        warnings.warn(
            f"the (expanded) columns are close to linear dependence (condition number {solution.condition:.0e}): the "
            f"features are accurate to about {counted(digits, 'digit')}. Leave out columns that nearly depend on "
            "others, reduce them with pca=N (--pca N), or use ridge=1e-9 (--ridge 1e-9)",
            ConditioningWarning,
            stacklevel=stacklevel,
        )

    def _fit_graph(self, samples: FloatArray, graph: Graph, *, stacklevel: int) -> None:
        """Discard what was learned before, then learn from all samples of a graph."""
        self._start(samples, np.arange(len(samples)) == 0, weights=graph.sample_weight)
        self._moments = graph.moments(self._expanded(samples), len(samples), self._signal.n_features_out)
        self._check_weights()
        why = self._why_undetermined(graph.n_independent(), self._solved().rank)
        if why is not None:
            raise ValueError(why)
        self._check_features(stacklevel=stacklevel + 1)

    def _expanded(self, samples: FloatArray) -> Rows:
        """Return a function from numbers of samples to the expanded samples."""
        reduced = self._signal.reduce(samples)

        def rows(numbers: IntArray) -> FloatArray:
            return self._signal.expand(reduced[numbers])

        return rows

    def _check_weights(self) -> None:
        """Raise ValueError if all samples, or all pairs of samples, have the weight 0."""
        for what, total in (("samples", self._moments.weight), ("pairs of samples", self._moments.pair_weight)):
            if not total > 0.0:
                raise ValueError(f"all {what} have the weight 0: give some of them a positive weight")

    def _joint(self) -> Joint:
        transformer = self._signal.transformer
        if not begins_with_input(transformer):
            raise AttributeError(
                f"patterns_ needs the covariance of the features with the columns, which SFA does not know after the "
                f"expansion {transformer!r}: add the columns to the expansion, or use OnlineSFA, which keeps samples"
            )
        solution = self._features_found()
        moments = solution.moments
        n_columns = self._signal.n_reduced * self._signal.n_delays
        return joint_of(moments.mean, moments.covariance, solution.components, n_columns)

    def _least_state(self, n_features: int, n_streams: int) -> int:
        return 2 * n_features**2  # scatter and difference

    def _scalars(self) -> dict[str, Any]:
        moments = self._moments
        return {
            "n_samples": moments.n_samples,
            "n_pairs": moments.n_pairs,
            "weight": moments.weight,
            "pair_weight": moments.pair_weight,
            "row_epsilon": moments.row_epsilon,
        }

    def _arrays(self) -> Arrays:
        return {f"moments.{name}": array for name, array in self._moments.arrays().items()}

    def _published(self) -> Arrays:
        solution = self._solved()
        if not len(solution.components):
            return {}
        return {
            **super()._published(),
            "delta_values": solution.delta_values,
            "redundant_features": solution.redundant_features,
        }

    def _restore(self, scalars: dict[str, Any], arrays: Arrays, published: Arrays) -> None:
        m = self._signal.n_features_out
        shapes = {"mean": (m,), "scatter": (m, m), "difference": (m, m)}
        weights = {name: scalars.get(name) for name in ("weight", "pair_weight")}  # files of 0.2 have none
        if any(weight is not None and not 0.0 <= weight < np.inf for weight in weights.values()):
            raise ValueError(f"{weights} are not sums of weights")
        row_epsilon = float(scalars.get("row_epsilon", 0.0))  # files of 0.2 have none
        if not 0.0 <= row_epsilon < 1.0:
            raise ValueError(f"row_epsilon={row_epsilon} is not a rounding error")
        self._moments = Moments.of(
            {name: checked_array(f"moments.{name}", arrays, shape) for name, shape in shapes.items()},
            int(scalars["n_samples"]),
            int(scalars["n_pairs"]),
            **weights,
            row_epsilon=row_epsilon,
        )
        self._solution = None
        if published:
            redundant = published["redundant_features"]
            if redundant.ndim != 1 or redundant.dtype != np.int64 or not set(redundant.tolist()) <= set(range(m)):
                raise ValueError("redundant_features are not numbers of columns")
            k = self.n_components or m - len(redundant)
            components, delta = (
                checked_array("components", published, (k, m)),
                checked_array("delta_values", published, (k,)),
            )
            self._solution = Solution.of(self._moments, components, delta, m - len(redundant), redundant)


def check_no_stream(X: object, advice: str) -> None:
    """Raise TypeError if X is a stream, for methods that need all samples at once."""
    if isinstance(X, Stream):
        raise TypeError(f"X must be an array, not a stream, because any two samples can be a pair: {advice}")


class Solution(NamedTuple):
    """The slow features for some moments. Its arrays are read-only."""

    moments: Moments  # from which it was solved
    components: Float64Array  # no rows if there are too few samples
    delta_values: Float64Array
    rank: int
    redundant_features: IntArray
    condition: float = 1.0  # of the correlations

    @classmethod
    def of(
        cls, moments: Moments, components: Float64Array, delta_values: Float64Array, rank: int, redundant: IntArray
    ) -> "Solution":
        """Return a solution whose arrays are read-only."""
        for array in (components, delta_values, redundant):
            array.setflags(write=False)
        return cls(moments, components, delta_values, rank, redundant)


def _check_sizes(moments: Moments) -> None:
    """Raise ValueError if the sums over samples or over pairs have lost their digits."""
    varies = np.diag(moments.scatter) > 0.0
    for sums, n in ((moments.scatter, moments.n_samples), (moments.difference, moments.n_pairs)):
        squares = np.diag(sums)
        if ((squares > 0.0) & (squares < LEAST_SQUARE * n)).any():
            raise ValueError(
                "the (expanded) samples vary so little, or have weights so small, that their squares lose digits: "
                "scale the input"
            )
    variance, change = np.diag(moments.covariance)[varies], np.diag(moments.difference_covariance)[varies]
    if moments.time_unit is None and (change > LARGEST_SLOWNESS * variance).any():
        raise ValueError(
            "the weights of the samples are so unequal that their variance is lost beside their differences: give "
            "weights that are more alike"
        )
