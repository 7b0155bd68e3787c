"""Graphs: their closed forms against the literal sums over all pairs, and against what they are known to give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from biosfa import SFA, DisconnectedGraphWarning, RankDeficiencyWarning
from biosfa.graphs import Graph, clustered_graph, nearest_neighbour_graph, serial_graph, transition_graph


def literal(X, graph):
    """C_xx and C_ẋẋ of a graph, pair by pair, as the definition says."""
    n = len(X)
    v = np.ones(n) if graph.sample_weight is None else graph.sample_weight
    mean = v @ X / v.sum()
    C_xx = sum(weight * np.outer(x - mean, x - mean) for weight, x in zip(v, X, strict=True)) / v.sum()
    groups = np.arange(n) if graph.groups is None else graph.groups
    kappa = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
    total, C_dot = 0.0, np.zeros_like(C_xx)
    for (g, h), weight in zip(graph.edges, kappa, strict=True):
        for i in np.flatnonzero(groups == g):
            for j in np.flatnonzero(groups == h):
                C_dot += weight * np.outer(X[j] - X[i], X[j] - X[i])
                total += weight
    return C_xx, C_dot / total


@st.composite
def graphs(draw):
    n = draw(st.integers(6, 25))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    kind = draw(st.sampled_from(["clustered", "serial", "pairs", "groups"]))
    if kind == "clustered":
        y = np.append(rng.integers(0, 3, n), [0, 0, 1, 1, 2, 2])
        return len(y), clustered_graph(y)
    if kind == "serial":
        return n, serial_graph(rng.integers(0, 5, n) / 2, n_groups=draw(st.integers(2, n)))
    weights, sample_weight = rng.uniform(0, 2, 8), rng.uniform(0, 2, n)
    if kind == "pairs":
        return n, Graph(rng.integers(0, n, (8, 2)), weights, sample_weight=sample_weight)
    groups = np.append(rng.integers(0, 3, n - 3), [0, 1, 2])
    return n, Graph(rng.integers(0, 3, (8, 2)), weights, groups=groups, sample_weight=sample_weight)


@settings(deadline=None, max_examples=60)
@given(graphs(), st.integers(0, 100))
def test_moments_are_the_literal_sums_over_all_pairs(case, seed):
    n, graph = case
    X = np.random.default_rng(seed).standard_normal((n, 3)) + 100.0
    moments = graph.moments(lambda rows: X[rows], n, 3)
    C_xx, C_dot = literal(X, graph)
    np.testing.assert_allclose(moments.covariance, C_xx, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(moments.difference_covariance, C_dot, rtol=1e-9, atol=1e-10)


def test_a_serial_graph_is_that_of_the_paper_on_training_sets_for_regression():
    """Escalante-B. & Wiskott (2013): in groups of equal size, samples at the ends weigh half as much as the others."""
    graph = serial_graph(np.arange(12)[::-1], n_groups=4)
    assert graph.groups.tolist() == [3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0]
    np.testing.assert_allclose(graph.sample_weight / graph.sample_weight[0], np.repeat([1, 2, 2, 1], 3))


def grid_walk(n=10):
    """Transitions of a random walk to the neighbours on an n × n grid."""
    P = np.zeros((n * n, n * n))
    for i, j in np.ndindex(n, n):
        near = [(i + a, j + b) for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0)) if 0 <= i + a < n and 0 <= j + b < n]
        for place in near:
            P[i * n + j, place[0] * n + place[1]] = 1 / len(near)
    return P


def test_features_of_a_random_walk_are_eigenvectors_of_its_transitions():
    P = grid_walk()
    with pytest.warns(RankDeficiencyWarning):  # columns of states add up to 1
        exact = SFA(6).fit_pairs(np.eye(100), transition_graph(csr_array(P)))
    eigenvalues = np.sort(np.linalg.eigvals(P).real)[::-1]
    np.testing.assert_allclose(exact.delta_values_, 2 * (1 - eigenvalues[1:7]), atol=1e-10)
    rng, steps = np.random.default_rng(0), 200_000
    draws, states = rng.random(steps), np.zeros(steps, np.int64)
    cumulative = P.cumsum(axis=1)
    for t in range(1, steps):
        states[t] = min(np.searchsorted(cumulative[states[t - 1]], draws[t]), 99)
    pairs = np.column_stack([states[:-1], states[1:]])
    with pytest.warns(RankDeficiencyWarning):
        walked = SFA(6).fit_pairs(np.eye(100), pairs, sample_weight=np.bincount(states, minlength=100))
    np.testing.assert_allclose(walked.delta_values_, exact.delta_values_, rtol=0.1)


def test_the_stationary_distribution_of_a_large_chain():
    """Reversible chains have π_i ∝ the sum of the conductances of state i."""
    rng = np.random.default_rng(0)
    conductance = np.triu(rng.random((300, 300)) * (rng.random((300, 300)) < 0.1)) + np.diag(np.ones(299), 1)
    conductance += conductance.T
    degree = conductance.sum(axis=1)
    graph = transition_graph(conductance / degree[:, None])
    np.testing.assert_allclose(graph.sample_weight, degree / degree.sum(), rtol=1e-6)


def test_neighbours_of_points_on_a_line():
    graph = nearest_neighbour_graph(np.arange(5.0)[:, None], k=1)
    assert sorted(map(sorted, graph.edges.tolist())) == [[0, 1], [1, 2], [2, 3], [3, 4]]
    np.testing.assert_array_equal(graph.sample_weight, [1, 2, 2, 2, 1])


def test_a_graph_of_several_parts_warns_of_their_number():
    X = np.concatenate([np.arange(5.0), 100 + np.arange(5.0), 300 + np.arange(5.0)])[:, None]
    with pytest.warns(DisconnectedGraphWarning, match="3 parts"):
        nearest_neighbour_graph(X, k=1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Graph([[0, 1], [1, 2]], [1.0, -1.0]), "weights must be finite and not negative; pair 1 has -1"),
        (lambda: Graph([[0, 1]], [0.0]), "all of weights are zero"),
        (lambda: Graph([[0, 1]], [1.0, 2.0]), "weights must be a list of length 1"),
        (lambda: Graph(np.zeros((0, 2), int)), "there are no pairs"),
        (lambda: Graph([[0.5, 1.0]]), "pairs must be whole numbers"),
        (lambda: Graph([0, 1]), "pairs must be whole numbers of shape"),
        (lambda: Graph([[0, 2]], groups=[0, 1, 1]), r"pair 0 is \(0, 2\), but there are only 2 groups"),
        (lambda: clustered_graph(["a", "b", "b"]), "class 'a' has only one sample, .*: leave it out"),
        (lambda: clustered_graph([0, 0, 1]), "class 1 has only one sample, .*: leave it out"),
        (lambda: clustered_graph([0, 0, np.nan, np.nan]), "sample 2 has no label"),
        (lambda: clustered_graph(["a", "a", None, None]), "sample 2 has no label"),
        (lambda: clustered_graph(np.array(["a", "a", 1, 1], dtype=object)), "labels are of different types"),
        (lambda: serial_graph(["a", "b", "c"]), "needs numbers as labels: for classes, use the clustered graph"),
        (lambda: serial_graph([2.0, 2.0, 2.0]), "all labels are 2"),
        (lambda: transition_graph(np.ones((2, 2, 2))), r"P must be a square matrix; got the shape \(2, 2, 2\)"),
        (lambda: Graph([]), "there are no pairs: give at least one"),
        (lambda: Graph(np.array([[0, 2**63 + 5]], dtype=np.uint64)), "pairs have the number 9223372036854775813"),
        (lambda: clustered_graph(np.linspace(0, 1, 9)), "use the serial graph"),
        (lambda: serial_graph([1.0, np.nan, 2.0]), "y contains NaN"),
        (lambda: serial_graph([1.0, 2.0], n_groups=5), "n_groups must be between 2 and"),
        (lambda: nearest_neighbour_graph(np.eye(3), k=3), "k must be smaller than the number of samples"),
        (lambda: transition_graph([[0.5, 0.4], [0.5, 0.5]]), "row 0 adds up to 0.9"),
        (lambda: transition_graph(np.eye(2)), "2 parts that cannot all be reached"),
    ],
)
def test_what_is_no_graph_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_groups_of_the_serial_graph_do_not_depend_on_the_order_of_the_samples():
    """Samples with the same label stay together."""
    rng = np.random.default_rng(0)
    for n_groups in (2, 3, 7, 20):
        y = rng.integers(0, 6, 60)
        order = rng.permutation(60)
        groups = serial_graph(y, n_groups=n_groups).groups
        np.testing.assert_array_equal(groups[order], serial_graph(y[order], n_groups=n_groups).groups)
        assert all(len(np.unique(groups[y == label])) == 1 for label in range(6))
        assert (np.diff(groups[np.argsort(y)]) >= 0).all()
        assert set(groups) == set(range(groups.max() + 1))


def test_a_graph_cannot_be_changed():
    edges, groups = np.array([[0, 1]]), np.array([0, 1])
    graph = Graph(edges, [1.0], groups=groups, sample_weight=[1.0, 2.0])
    edges[0, 0], groups[0] = 1, 1  # its own copies stay as they were
    assert (graph.edges.tolist(), graph.groups.tolist()) == ([[0, 1]], [0, 1])
    for array in graph.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_groups_without_samples_are_left_out():
    kept = np.array([True, True, False, True, False])
    graph = Graph([[0, 1], [1, 3]], [2.0, 3.0], groups=[0, 1, 2, 1, 3]).among(kept)
    assert (graph.edges.tolist(), graph.weights.tolist(), graph.groups.tolist()) == ([[0, 1]], [2.0], [0, 1, 1])
    with pytest.raises(ValueError, match="in every pair a sample is missing"):
        graph.among(np.array([True, False, False]))
