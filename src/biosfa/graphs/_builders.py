"""Graphs of labels, neighbours and transitions."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigs
from sklearn.neighbors import kneighbors_graph

from biosfa.exceptions import DisconnectedGraphWarning
from biosfa.floats import to_floats, unmasked
from biosfa.graphs._graph import Graph
from biosfa.typing import Float64Array, IntArray
from biosfa.validation import check_count

ROUNDING = 1e-8  # largest error of a sum of probabilities
Labels = np.ndarray[Any, Any]
DENSE = 200  # states up to which all eigenvectors of a transition matrix are computed


def clustered_graph(y: ArrayLike) -> Graph:
    """Return the graph in which every sample is paired with all samples of its class.

    A pair of a class with N samples has the weight 1/N. The slow features are then those of Fisher's linear
    discriminant analysis.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of each sample: numbers or words.

    Returns
    -------
    Graph

    Raises
    ------
    ValueError
        If a class has only one sample, or if a label is missing.

    Examples
    --------
    >>> from biosfa.graphs import clustered_graph
    >>> clustered_graph(["a", "b", "b", "a"])
    <Graph of 2 edges between 2 groups of 4 samples>
    """
    classes, groups, sizes = classes_of(y)
    lonely = sizes < 2
    if lonely.any():
        first = classes[lonely].tolist()[0]
        continuous = classes.dtype.kind in "iuf" and lonely.sum() > max(2, len(classes) // 2)
        advice = "y looks continuous: use the serial graph" if continuous else "leave it out, or join it with another"
        raise ValueError(f"class {first!r} has only one sample, but a class needs two or more: {advice}")
    each = np.arange(len(classes))
    return Graph(np.column_stack([each, each]), 1.0 / sizes, groups=groups)


def serial_graph(y: ArrayLike, *, n_groups: int | None = None) -> Graph:
    """Return the graph in which samples with similar labels are paired, for regression.

    The samples are sorted by label and divided into groups of equal size. Samples with the same label stay together, so
    that groups can be larger, or fewer than asked for. Every sample of a group is paired with every sample of the next
    group. The slowest features then follow the label.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Label of each sample: a number.
    n_groups : int, optional
        Number of groups. By default √n for n samples.

    Returns
    -------
    Graph

    Raises
    ------
    ValueError
        If labels are not finite numbers, or if all of them are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.graphs import serial_graph
    >>> serial_graph(np.linspace(0, 1, 100))
    <Graph of 9 edges between 10 groups of 100 samples>
    """
    labels = _numbers(y)
    if not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity: the serial graph needs finite labels")
    n = len(labels)
    wanted = max(2, round(n**0.5)) if n_groups is None else check_count("n_groups", n_groups)
    if not 2 <= wanted <= n:
        raise ValueError(f"n_groups must be between 2 and the number of samples, {n}; got {wanted}")
    values, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(values) < 2:
        raise ValueError(f"all labels are {values[0]:g}: the serial graph needs different ones")
    last = np.cumsum(counts) - 1  # places of the last and, below, of the first sample with each label, in their order
    middle = (last - counts + 1 + last) * wanted // (2 * n)
    groups = np.unique(middle, return_inverse=True)[1][which]  # numbers without those of empty groups
    sizes = np.bincount(groups).astype(np.float64)
    neighbours = np.append(0.0, sizes[:-1]) + np.append(sizes[1:], 0.0)
    each = np.arange(len(sizes) - 1)
    # a sample has the weight of its pairs: the graph is then consistent, and its slowest feature is not trivial
    weight = neighbours[groups] * (n / neighbours[groups].sum())
    return Graph(np.column_stack([each, each + 1]), groups=groups, sample_weight=weight)


def nearest_neighbour_graph(X: ArrayLike, k: int) -> Graph:
    """Return the graph in which every sample is paired with its k nearest neighbours.

    The weight of a sample is the number of its pairs. The slow features of the graph are then the smoothest functions
    on it that are linear in the (expanded) samples.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples. Distances are Euclidean.
    k : int
        Number of neighbours of each sample.

    Returns
    -------
    Graph

    Warns
    -----
    DisconnectedGraphWarning
        If the graph has several parts. Its slowest features then tell the parts apart.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.graphs import nearest_neighbour_graph
    >>> nearest_neighbour_graph(np.arange(10.0)[:, None], k=2)
    <Graph of 11 edges>
    """
    samples = to_floats(X)
    if samples.ndim != 2:
        raise ValueError(f"X must have the shape (n_samples, n_features); got {samples.shape}")
    if check_count("k", k) >= len(samples):
        raise ValueError(f"k must be smaller than the number of samples, {len(samples)}; got {k}")
    adjacency = kneighbors_graph(samples, k)
    adjacency = adjacency.maximum(adjacency.T)
    n_parts = int(connected_components(adjacency, directed=False)[0])
    if n_parts > 1:
        warnings.warn(
            f"the graph of {k} nearest neighbours has {n_parts} parts without connection: its first {n_parts - 1} "
            "features tell them apart. Give a larger k to connect them",
            DisconnectedGraphWarning,
            stacklevel=2,
        )
    first, second = adjacency.nonzero()
    once = first < second
    return Graph(np.column_stack([first[once], second[once]]), sample_weight=np.bincount(first, minlength=len(samples)))


def transition_graph(P: Any) -> Graph:
    """Return the graph of a Markov chain: states i and j are paired with the weight π_i P_ij of the flow between them.

    π is the stationary distribution, and the weight of a state. If every state has a column of its own (X is the unit
    matrix) and the chain is reversible, the slow features are the eigenvectors of P, and δ = 2(1 − λ). They are those
    of the successor representation.

    Parameters
    ----------
    P : array-like or sparse array of shape (n_states, n_states)
        Probabilities of transitions. Each row adds up to 1.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa import SFA
    >>> from biosfa.graphs import transition_graph
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8]])  # its eigenvalues are 1 and 0.7
    >>> float(SFA(1).fit_pairs(np.eye(2)[:, :1], transition_graph(P)).delta_values_[0].round(6))
    0.6
    """
    given = P if issparse(P) else np.asarray(P, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"P must be a square matrix; got the shape {given.shape}")
    matrix = csr_array(given)
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= ROUNDING))
    if len(wrong) or (matrix.data < 0.0).any():
        row = f"; row {wrong[0]} adds up to {sums[wrong[0]]:g}" if len(wrong) else "; some are negative"
        raise ValueError(f"the rows of P must be probabilities that add up to 1{row}")
    n_parts = int(connected_components(matrix, connection="strong")[0])
    if n_parts > 1:
        raise ValueError(
            f"P has {n_parts} parts that cannot all be reached from one another: its stationary distribution is not "
            "unique. Give the transitions of one part"
        )
    stationary = _stationary(matrix)
    flow = coo_array(matrix)
    first, second = flow.coords
    return Graph(np.column_stack([first, second]), stationary[first] * flow.data, sample_weight=stationary)


def _stationary(P: Any) -> Float64Array:
    """Return π = πP, with Σπ = 1."""
    if P.shape[0] <= DENSE:
        values, vectors = np.linalg.eig(P.toarray().T)
    else:
        values, vectors = eigs(P.T, k=1, sigma=1.0 + ROUNDING, v0=np.ones(P.shape[0]))
    largest = np.abs(vectors[:, np.argmax(values.real)].real)
    return np.asarray(largest / largest.sum(), dtype=np.float64)


def classes_of(y: ArrayLike) -> tuple[Labels, IntArray, IntArray]:
    """Return the classes among labels, the number of the class of each sample, and the size of each class.

    Raises
    ------
    ValueError
        If a label is missing, or if labels are of types that cannot be sorted.
    """
    labels = _labels(y)
    missing = labels != labels
    if labels.dtype == object:
        missing |= np.array([label is None for label in labels])
    if missing.any():
        raise ValueError(f"sample {np.flatnonzero(missing)[0]} has no label: leave such samples out, or give a label")
    try:
        return np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError:
        raise ValueError("labels are of different types: give numbers only, or words only") from None


def _numbers(y: ArrayLike) -> Float64Array:
    """Return labels as numbers."""
    labels = _labels(y)
    try:
        return labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("the serial graph needs numbers as labels: for classes, use the clustered graph") from None


def _labels(y: ArrayLike) -> Labels:
    labels = unmasked(y)
    if labels.ndim != 1 or len(labels) < 2:
        raise ValueError(f"y must be a list of two or more labels, one per sample; got the shape {labels.shape}")
    return labels
