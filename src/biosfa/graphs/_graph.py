"""Pairs of samples with weights, or of groups of samples."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from biosfa.floats import unmasked
from biosfa.kernels.exact import Moments, Rows, accumulate_groups, accumulate_pairs, accumulate_samples
from biosfa.typing import Arrays, BoolArray, Float64Array, IntArray
from biosfa.validation import checked_weights


@dataclass(frozen=True, eq=False)
class Graph:
    """Pairs of samples whose features should be similar, each with a weight.

    A slow feature of a graph minimises the weighted mean of (y_j − y_i)² over all pairs (i, j), at a weighted variance
    of 1 (Escalante-B. & Wiskott, JMLR 14, 2013). In a time series, the pairs are consecutive samples.

    A graph can also connect groups of samples: then every sample of one group is paired with every sample of another.
    These pairs are never listed, because their moments follow from those of the groups.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2)
        Numbers of the samples of each pair, from 0; or numbers of groups, if ``groups`` is given. A group may be
        connected with itself.
    weights : array-like of shape (n_edges,), optional
        Weight of each pair. For groups: weight of each pair of their samples. By default 1.
    groups : array-like of shape (n_samples,), optional
        Number of the group of each sample, from 0.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples in the mean and the variance. By default 1.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> from biosfa.graphs import Graph
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> t = np.arange(99)
    >>> chain = Graph(np.column_stack([t, t + 1]))
    >>> bool(np.allclose(SFA().fit_pairs(X, chain).delta_values_, SFA().fit(X).delta_values_))
    True
    """

    edges: IntArray
    weights: Float64Array | None = None
    groups: IntArray | None = None
    sample_weight: Float64Array | None = None

    def __init__(
        self,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        pairs = unmasked(edges)
        if pairs.size == 0:
            raise ValueError("there are no pairs: give at least one")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
            raise ValueError(
                f"pairs must be whole numbers of shape (n_pairs, 2), one row (i, j) per pair; got {pairs.dtype} of "
                f"shape {pairs.shape}"
            )
        self._keep("edges", _whole_numbers(pairs, "pairs"))
        self._keep("weights", checked_weights("weights", weights, len(pairs), "pair"))
        self._keep("groups", None if groups is None else _checked_groups(groups))
        n = None if self.groups is None else len(self.groups)
        self._keep("sample_weight", checked_weights("sample_weight", sample_weight, n, "sample"))
        if self.groups is not None:
            _check_range(self.edges, int(self.groups.max()) + 1, "groups")

    def _keep(self, name: str, array: IntArray | Float64Array | None) -> None:
        """Set an attribute to a read-only copy of an array."""
        kept = None if array is None else array.copy()
        if kept is not None:
            kept.setflags(write=False)
        object.__setattr__(self, name, kept)

    def __repr__(self) -> str:
        nodes = "" if self.groups is None else f" between {self.groups.max() + 1} groups of {len(self.groups)} samples"
        return f"<Graph of {len(self.edges)} edges{nodes}>"

    def arrays(self) -> Arrays:
        """Return the arrays of the graph, by the names of the parameters."""
        return {name: array for name, array in vars(self).items() if array is not None}

    def check(self, n_samples: int) -> None:
        """Raise ValueError if this is not a graph of so many samples."""
        if self.groups is not None and len(self.groups) != n_samples:
            raise ValueError(f"the graph has {len(self.groups)} samples, but X has {n_samples}")
        if self.groups is None:
            _check_range(self.edges, n_samples, "rows of X")
        if self.sample_weight is not None and len(self.sample_weight) != n_samples:
            raise ValueError(f"sample_weight has {len(self.sample_weight)} values, but X has {n_samples} rows")

    def among(self, kept: BoolArray) -> Self:
        """Return the graph of the samples that are kept, without the pairs of the others.

        Raises
        ------
        ValueError
            If no pair is left.
        """
        present = kept if self.groups is None else np.bincount(self.groups, kept) > 0.0  # samples, or groups of them
        both = present[self.edges].all(axis=1)
        if not both.any():
            raise ValueError("in every pair a sample is missing: there is nothing to learn from")
        number = np.cumsum(present) - 1
        weights = None if self.weights is None else self.weights[both]
        weight = None if self.sample_weight is None else self.sample_weight[kept]
        groups = None if self.groups is None else number[self.groups[kept]]
        return type(self)(number[self.edges[both]], weights, groups=groups, sample_weight=weight)

    def n_independent(self) -> int:
        """Return the number of pairs of which none follows from others: paired samples less the parts of the graph."""
        n_nodes = 1 + int(self.edges.max() if self.groups is None else self.groups.max())
        sizes = np.ones(n_nodes, np.int64) if self.groups is None else np.bincount(self.groups)
        counts = (sizes[self.edges] > 0).all(axis=1)
        edges = self.edges[counts if self.weights is None else counts & (self.weights > 0.0)]
        connected = coo_array((np.ones(len(edges)), edges.T), shape=(n_nodes, n_nodes))
        part = connected_components(connected, directed=False)[1]
        paired = np.unique(edges)
        return int(sizes[paired].sum()) - len(np.unique(part[paired]))

    def moments(self, rows: Rows, n_samples: int, n_features: int) -> Moments:
        """Return the moments of samples, which ``rows`` returns by their numbers."""
        moments = Moments(n_features)
        accumulate_samples(moments, rows, n_samples, self.sample_weight)
        if self.groups is None:
            accumulate_pairs(moments, rows, self.edges, self.weights)
        else:
            accumulate_groups(moments, rows, self.groups, self.edges, self.weights)
        return moments


def as_graph(pairs: ArrayLike | Graph, weights: ArrayLike | None, sample_weight: ArrayLike | None) -> Graph:
    """Return pairs with weights as a graph; a graph may only get other weights of samples.

    Raises
    ------
    ValueError
        If they are not pairs, or if there are weights for the pairs of a graph.
    """
    if not isinstance(pairs, Graph):
        return Graph(pairs, weights, sample_weight=sample_weight)
    if weights is not None:
        raise ValueError("weights cannot be used with a Graph, which has its own: give them to Graph")
    if sample_weight is None:
        return pairs
    return Graph(pairs.edges, pairs.weights, groups=pairs.groups, sample_weight=sample_weight)


def _checked_groups(groups: ArrayLike) -> IntArray:
    numbers = unmasked(groups)
    if numbers.ndim != 1 or not len(numbers) or not np.issubdtype(numbers.dtype, np.integer) or numbers.min() < 0:
        raise ValueError(f"groups must be whole numbers from 0, one per sample; got {groups!r}")
    return _whole_numbers(numbers, "groups")


def _whole_numbers(numbers: np.ndarray[Any, Any], what: str) -> IntArray:
    """Return numbers as int64; raise ValueError if they are too large for it."""
    if numbers.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{what} have the number {numbers.max()}, but they are counted from 0: it is too large")
    return numbers.astype(np.int64, copy=False)


def _check_range(edges: IntArray, n: int, what: str) -> None:
    wrong = np.flatnonzero(((edges < 0) | (edges >= n)).any(axis=1))
    if len(wrong):
        pair = tuple(edges[wrong[0]].tolist())
        raise ValueError(f"pair {wrong[0]} is {pair}, but there are only {n} {what}, numbered from 0")
