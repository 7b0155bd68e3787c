"""Moments of samples on a graph: every sample of a group is paired with every sample of another.

With N_g samples in group g, their mean μ_g and their scatter S_g about it, the pairs of all samples of g with all of h,
each of weight κ, add

    κ(N_h S_g + N_g S_h + N_g N_h (μ_h − μ_g)(μ_h − μ_g)ᵀ)

to the sum of the differences, and κN_gN_h to its weight. So no pair of samples is ever made. Pairs of single samples
are groups of one.
"""

from collections.abc import Callable

import numpy as np

from biosfa.kernels.exact.moments import Moments, block_rows
from biosfa.typing import Float64Array, FloatArray, IntArray

Rows = Callable[[IntArray], FloatArray]  # returns the samples with these numbers


def accumulate_samples(moments: Moments, rows: Rows, n_samples: int, weights: Float64Array | None) -> None:
    """Take samples with weights into ``moments``."""
    for part in _blocks(np.arange(n_samples), moments):
        moments.add_samples(rows(part), None if weights is None else weights[part])


def accumulate_pairs(moments: Moments, rows: Rows, edges: IntArray, weights: Float64Array | None) -> None:
    """Take pairs of samples into ``moments``; ``edges`` of shape (pairs, 2) has their numbers."""
    for part in _blocks(np.arange(len(edges)), moments):
        changes = np.subtract(rows(edges[part, 1]), rows(edges[part, 0]), dtype=np.float64)
        moments.add_differences(changes, None if weights is None else weights[part])


def accumulate_groups(
    moments: Moments, rows: Rows, groups: IntArray, edges: IntArray, weights: Float64Array | None
) -> None:
    """Take all pairs of samples of connected groups into ``moments``.

    ``groups`` has the number of the group of each sample; ``edges`` of shape (edges, 2) has pairs of groups, and
    ``weights`` their κ.
    """
    sizes = np.bincount(groups)
    kappa = np.ones(len(edges)) if weights is None else weights
    g, h = edges.T
    share = np.zeros(len(sizes))  # weight of the scatter of each group
    np.add.at(share, g, kappa * sizes[h])
    np.add.at(share, h, kappa * sizes[g])
    order = np.argsort(groups, kind="stable")
    means = _means(moments, rows, groups, order, sizes)
    for part in _blocks(order, moments):
        own = groups[part]
        moments.add_differences(rows(part) - means[own], share[own], n_pairs=0, pair_weight=0.0)
    between = kappa * sizes[g] * sizes[h]
    n_pairs = int((sizes[g] * sizes[h]).sum())
    apart = g != h
    moments.add_differences(
        means[h[apart]] - means[g[apart]], between[apart], n_pairs=n_pairs, pair_weight=float(between.sum())
    )


def _means(moments: Moments, rows: Rows, groups: IntArray, order: IntArray, sizes: IntArray) -> Float64Array:
    """Return the mean of each group; ``order`` sorts the samples by group."""
    origin = rows(order[:1])[0].astype(np.float64)  # sums relative to a sample cancel less
    sums = np.zeros((len(sizes), moments.n_features))
    for part in _blocks(order, moments):
        own = groups[part]
        first = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        sums[own[first]] += np.add.reduceat(rows(part) - origin, first, axis=0)
    means: Float64Array = origin + sums / np.maximum(sizes, 1)[:, None]
    return means


def _blocks(index: IntArray, moments: Moments) -> list[IntArray]:
    size = block_rows(moments.n_features)
    return [index[begin : begin + size] for begin in range(0, len(index), size)]
