"""Fewer pairs of samples than determine a feature: an error that counts them, and no text of a library below."""

import numpy as np
import pytest

from biosfa import (
    SFA,
    BioSFA,
    GraphSFA,
    LocalSFA,
    OfflineBioSFA,
    OnlineSFA,
    metrics,
)
from biosfa.graphs import Graph, clustered_graph
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from biosfa.selection import choose, cross_validate, implied_timescales, significance

pytestmark = [
    pytest.mark.filterwarnings("ignore::biosfa.ShortEpisodeWarning"),
    pytest.mark.filterwarnings("ignore::biosfa.RankDeficiencyWarning"),
    pytest.mark.filterwarnings("ignore::biosfa.GiveAwayWarning"),
]


def with_gaps(n_rows, n_columns, every):
    """Noise in which every so many rows a value is missing."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    X[every - 1 :: every, 0] = np.nan
    return X


@pytest.mark.parametrize("lengths", [[1] * 9 + [2], [2] * 5, [3] * 4])
@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_fewer_pairs_than_dimensions_determine_no_feature(lengths, n_components):
    """Along some directions no pair changes: noise would have δ = 0."""
    n_pairs, rank = sum(length - 1 for length in lengths), 9
    X = np.random.default_rng(0).standard_normal((sum(lengths), rank))
    assert n_pairs < rank
    with pytest.raises(ValueError, match=rf"^{n_pairs} usable pairs? .* vary in {rank} dimensions.* at least 9 pairs"):
        SFA(n_components).fit(X, lengths=lengths)
    few = SFA(1, pca=n_pairs).fit(X, lengths=lengths)  # the advice helps
    assert few.delta_values_[0] > 1e-6
    assert SFA(1, ridge=1e-3).fit(X, lengths=lengths).delta_values_[0] > 1e-6


def test_a_lag_leaves_fewer_pairs():
    X = np.random.default_rng(0).standard_normal((12, 8))
    assert SFA(lag=4).fit(X).delta_values_[0] > 1e-6
    with pytest.raises(ValueError, match=r"7 usable pairs .* 8 dimensions"):
        SFA(lag=5).fit(X)


def test_columns_that_are_constant_within_episodes_are_features():
    X = np.random.default_rng(0).standard_normal((40, 5))
    X[:, 0] = np.repeat([0.0, 1.0, 3.0, 2.0], 10)
    found = SFA().fit(X, lengths=[10] * 4)
    assert found.delta_values_[0] == pytest.approx(0.0, abs=1e-12)
    assert (found.delta_values_[1:] > 0.1).all()


def test_partial_fit_takes_few_pairs_because_more_may_follow():
    X, lengths = np.random.default_rng(0).standard_normal((30, 6)), [2] * 15
    sfa = SFA(2)
    with pytest.raises(AttributeError, match="there are no features yet"):
        sfa.partial_fit(X[:1], lengths=[1]).components_  # noqa: B018
    sfa = SFA(2)
    for begin in range(0, 30, 2):
        sfa.partial_fit(X[begin : begin + 2], lengths=[2])
    np.testing.assert_allclose(sfa.delta_values_, SFA(2).fit(X, lengths=lengths).delta_values_)
    few = SFA(2).partial_fit(X[:6], lengths=[2, 2, 2])
    few.merge(SFA(2).partial_fit(X[6:], lengths=lengths[3:]))
    np.testing.assert_allclose(few.delta_values_, sfa.delta_values_)


def independent(graph, n_samples):
    """The rank of the matrix with a row e_j − e_i for each pair of samples."""
    groups = np.arange(n_samples) if graph.groups is None else graph.groups
    weights = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
    pairs = [
        np.eye(n_samples)[j] - np.eye(n_samples)[i]
        for (g, h), weight in zip(graph.edges, weights, strict=True)
        for i in np.flatnonzero(groups == g)
        for j in np.flatnonzero(groups == h)
        if weight > 0.0
    ]
    return int(np.linalg.matrix_rank(np.array(pairs)))


@pytest.mark.parametrize(
    ("graph", "n_samples"),
    [
        (Graph([[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]]), 6),
        (Graph([[0, 0], [1, 2]]), 3),
        (Graph([[0, 1], [1, 2], [2, 3]], [1.0, 0.0, 2.0]), 5),
        (Graph([[0, 0], [2, 4]], groups=[0, 0, 0, 2, 2, 4, 1]), 7),
        (Graph([[0, 3]], groups=[0, 0, 1, 3, 3]), 5),
        (clustered_graph(np.array([0, 1, 1, 0, 2, 2])), 6),
    ],
)
def test_pairs_that_follow_from_others_do_not_count(graph, n_samples):
    assert graph.n_independent() == independent(graph, n_samples)


def test_too_few_pairs_of_a_graph():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((30, 28)), np.repeat([0, 1, 2], 10)
    with pytest.raises(ValueError, match=r"27 usable pairs .* 28 dimensions"):
        GraphSFA(2).fit(X, labels)
    assert GraphSFA(2).fit(X[:, :26], labels).delta_values_[0] > 1e-9
    assert GraphSFA(2, ridge=1e-3).fit(X, labels).delta_values_[0] > 1e-9
    ring = np.column_stack([np.arange(4), (np.arange(4) + 1) % 4])
    with pytest.raises(ValueError, match=r"3 usable pairs .* 5 dimensions"):
        SFA(1).fit_pairs(X[:, :5], ring)


ONLINE = [OnlineSFA, LocalSFA, BioSFA, FoldiakTrace, IncrementalSFA, OnlineGEV]


@pytest.mark.parametrize("learner", ONLINE)
@pytest.mark.parametrize("n_epochs", [1, 5])
def test_networks_need_a_pair_per_feature(learner, n_epochs):
    X = np.random.default_rng(0).standard_normal((12, 5))
    with pytest.raises(ValueError, match="2 usable pairs of consecutive samples cannot determine n_components=3"):
        learner(3, n_epochs=n_epochs, random_state=0).fit(X, lengths=[2, 2] + [1] * 8)


CALLS = {
    "SFA": lambda X: SFA(missing="break").fit(X),
    "OfflineBioSFA": lambda X: OfflineBioSFA(2, random_state=0).fit(X[np.isfinite(X).all(axis=1)], lengths=[1] * 48),
    "slowest": lambda X: metrics.slowest(X[np.isfinite(X).all(axis=1)], 2, lengths=[2] + [1] * 46),
    "choose": choose,
    "implied_timescales": implied_timescales,
    "cross_validate": cross_validate,
    "significance": significance,
    "monitor": lambda X: SlowFeatureMonitor().fit(X),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n_pairs", [0, 2])
def test_no_text_of_lapack_reaches_a_user(name, n_pairs):
    """Every second row is missing."""
    X = with_gaps(96, 10, 2)
    X[1:n_pairs, 0] = 0.0
    with pytest.raises(Exception) as caught:  # noqa: PT011
        CALLS[name](X)
    assert not isinstance(caught.value, np.linalg.LinAlgError), caught.value
    assert any(word in str(caught.value) for word in ("pair", "episode", "rows")), caught.value


def test_a_network_that_has_learned_nothing_is_not_said_to_lack_input():
    """Inputs have no units before the second sample, so the first of two pairs teaches nothing."""
    X = np.random.default_rng(0).standard_normal((50, 10))
    with pytest.raises(ValueError, match=r"only 0 features of n_components=2, although 2 recent pairs .* dimensions"):
        LocalSFA(2, random_state=0).fit(X, lengths=[3] + [1] * 47)
