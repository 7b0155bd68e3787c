"""Weights and pairs of exact SFA."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa import SFA, ShortEpisodeWarning, metrics
from biosfa.graphs import Graph, clustered_graph
from biosfa.io import open_stream
from biosfa.kernels.exact import moments
from tests.conftest import deviation


def consecutive(n):
    return np.column_stack([np.arange(n - 1), np.arange(1, n)])


def same(one, other, tolerance=1e-10):
    assert deviation(one.delta_values_, other.delta_values_) < tolerance
    assert deviation(one.components_, other.components_) < tolerance
    np.testing.assert_allclose(one.mean_, other.mean_, atol=tolerance)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((400, 4)).cumsum(axis=1)


@pytest.mark.parametrize(
    "options",
    [{}, {"pca": 3}, {"expansion": "quadratic"}, {"pca": 2, "expansion": "quadratic"}, {"ridge": 0.1}],
    ids=str,
)
def test_a_time_series_is_a_special_case_of_pairs(X, options):
    same(SFA(2, **options).fit_pairs(X, consecutive(len(X))), SFA(2, **options).fit(X))


def test_weights_stand_for_repetition(X):
    rng = np.random.default_rng(1)
    pairs, weights, often = rng.integers(0, 400, (500, 2)), rng.integers(1, 4, 500), rng.integers(1, 4, 400)
    rows = np.repeat(np.arange(400), often)
    first = np.append(0, np.cumsum(often)[:-1])  # the first copy of each row
    repeated = SFA().fit_pairs(X[rows], first[np.repeat(pairs, weights, axis=0)])
    same(SFA().fit_pairs(X, pairs, weights=weights, sample_weight=often), repeated)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_weighted_samples_are_the_literal_sums_for_any_chunks(data):
    draw = data.draw
    n, lag, n_delays = draw(st.integers(30, 60)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    X, v = rng.standard_normal((n, 2)), rng.uniform(0, 2, n)
    starts = rng.random(n) < 0.05
    starts[0] = True
    X[rng.random(n) < draw(st.sampled_from([0.0, 0.05])), 0] = np.nan
    settings_ = {"lag": lag, "n_delays": n_delays, "missing": "break"}
    sfa = SFA(**settings_)
    cuts = sorted(draw(st.lists(st.integers(1, n - 1), max_size=3)))
    for rows in np.split(np.arange(n), cuts):
        if len(rows):
            sfa.partial_fit(X[rows], starts=starts[rows], sample_weight=v[rows])
    # the definition: delay vectors with the weight of their newest sample, pairs within episodes
    whole = np.flatnonzero(~np.isnan(X[:, 0]))
    episode = np.cumsum(starts | np.append(False, np.isnan(X[:-1, 0])))
    delayed = [t for t in whole if all(t - d in whole and episode[t - d] == episode[t] for d in range(n_delays))]
    H = {t: np.concatenate([X[t - d] for d in range(n_delays)]) for t in delayed}
    pairs = [(t - lag, t) for t in delayed if t - lag in H and episode[t - lag] == episode[t]]
    if not pairs:
        return
    weight = sum(v[t] for t in delayed)
    mean = sum(v[t] * H[t] for t in delayed) / weight
    C_xx = sum(v[t] * np.outer(H[t] - mean, H[t] - mean) for t in delayed) / weight
    gamma = [np.sqrt(v[i] * v[j]) for i, j in pairs]
    C_dot = sum(g * np.outer(H[j] - H[i], H[j] - H[i]) for g, (i, j) in zip(gamma, pairs, strict=True)) / sum(gamma)
    np.testing.assert_allclose(sfa._moments.covariance, C_xx, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sfa._moments.difference_covariance, C_dot, rtol=1e-9, atol=1e-12)


def test_weights_in_several_blocks_are_those_of_one(X, monkeypatch):
    v = np.random.default_rng(0).uniform(0, 2, 400)
    lengths, t = [150, 1, 249], np.random.default_rng(1).uniform(0.5, 2, 400).cumsum()

    def models():
        weighted = [SFA(lag=lag).fit(X, sample_weight=v, lengths=lengths) for lag in (1, 3)]
        return [*weighted, SFA(lag=3).partial_fit(X[:7]).partial_fit(X[7:], sample_weight=v[7:]), SFA().fit(X, time=t)]

    with pytest.warns(ShortEpisodeWarning):
        whole = models()
    monkeypatch.setattr(moments, "BLOCK_BYTES", 32 * 11)  # 11 rows
    with pytest.warns(ShortEpisodeWarning):
        in_blocks = models()
    for one, other in zip(in_blocks, whole, strict=True):
        same(one, other)


def test_tiny_weights_do_not_underflow(X):
    same(SFA(lag=2).fit(X, sample_weight=np.full(400, 1e-300)), SFA(lag=2).fit(X))


def test_a_chunk_may_have_no_weight(X):
    """Only all of a stream must have some."""
    v = np.r_[np.ones(200), np.zeros(100), np.ones(100)]
    whole, chunks = SFA().fit(X, sample_weight=v), SFA()
    for part in np.split(np.arange(400), [200, 300]):
        chunks.partial_fit(X[part], sample_weight=v[part])
    same(chunks, whole)
    pairs = SFA().partial_fit_pairs(X[:5], X[5:10], np.zeros(5))
    assert not hasattr(pairs, "components_")
    same(pairs.partial_fit_pairs(X[:-1], X[1:]), SFA().partial_fit_pairs(X[:-1], X[1:]))


def test_features_of_a_fit_with_weights(X):
    v = np.random.default_rng(0).uniform(0, 2, 400)
    np.testing.assert_array_equal(SFA().fit_transform(X, sample_weight=v), SFA().fit(X, sample_weight=v).transform(X))


def test_equal_weights_change_nothing(X):
    same(SFA(lag=2).fit(X, sample_weight=np.full(400, 3.0), lengths=[100, 300]), SFA(lag=2).fit(X, lengths=[100, 300]))


def test_principal_components_have_weights_too(X):
    """Samples of weight 0 do not exist."""
    v = np.r_[np.ones(300), np.zeros(100)]
    spoiled = X.copy()
    spoiled[300:] *= 100.0
    weighted, plain = SFA(2, pca=3).fit(spoiled, sample_weight=v), SFA(2, pca=3).fit(X[:300])
    same(weighted, plain)
    assert deviation(weighted.transform(X), plain.transform(X)) < 1e-10
    same(SFA(2, pca=3).partial_fit(spoiled, sample_weight=v), plain)
    gamma = np.sqrt(v[1:] * v[:-1])
    streamed = SFA(2, pca=3).partial_fit_pairs(spoiled[:-1], spoiled[1:], gamma)
    same(streamed, SFA(2, pca=3).partial_fit_pairs(X[:299], X[1:300]))


def test_a_stream_of_pairs_counts_both_samples(X):
    pairs, weights = consecutive(400), np.random.default_rng(2).uniform(0, 2, 399)
    sfa = SFA()
    for part in np.split(np.arange(399), [1, 200]):
        sfa.partial_fit_pairs(X[pairs[part, 0]], X[pairs[part, 1]], weights[part])
    both = np.zeros(400)
    np.add.at(both, pairs.ravel(), np.repeat(weights, 2))
    same(sfa, SFA().fit_pairs(X, pairs, weights=weights, sample_weight=both))
    assert sfa.n_samples_seen_ == 2 * 399


def test_models_of_pairs_can_be_merged_saved_and_continued(X, tmp_path):
    pairs, weights = consecutive(400), np.random.default_rng(2).uniform(0, 2, 399)
    first, second = (SFA().partial_fit_pairs(X[p[:, 0]], X[p[:, 1]], w) for p, w in
                     ((pairs[:200], weights[:200]), (pairs[200:], weights[200:])))  # fmt: skip
    whole = SFA().partial_fit_pairs(X[pairs[:, 0]], X[pairs[:, 1]], weights)
    first.save(tmp_path / "model")
    same(SFA.load(tmp_path / "model").merge(second), whole)


def test_a_weighted_stream_resumes_from_a_file_in_the_middle_of_an_episode(X, tmp_path):
    v = np.random.default_rng(3).uniform(0, 2, 400)
    sfa = SFA(lag=3).partial_fit(X[:150], sample_weight=v[:150])
    sfa.save(tmp_path / "model")
    loaded = SFA.load(tmp_path / "model").partial_fit(X[150:], sample_weight=v[150:])
    np.testing.assert_array_equal(loaded.components_, sfa.partial_fit(X[150:], sample_weight=v[150:]).components_)
    same(loaded, SFA(lag=3).fit(X, sample_weight=v))


def test_missing_samples_take_their_pairs_with_them(X):
    spoiled = np.vstack([X, X[:5]])
    spoiled[-5:, 1] = np.nan
    pairs = np.vstack([consecutive(400), [[0, 401], [403, 404]]])
    sfa = SFA(missing="break").fit_pairs(spoiled, pairs)
    same(sfa, SFA().fit_pairs(X, consecutive(400)))
    assert (sfa.n_skipped_, sfa.n_broken_pairs_) == (5, 2)
    groups = Graph([[0, 1]], groups=np.arange(405) % 2)
    same(SFA(missing="break").fit_pairs(spoiled, groups), SFA().fit_pairs(X, groups.among(np.arange(405) < 400)))


def test_slowness_of_pairs_is_what_the_features_show(X):
    pairs, weights = np.random.default_rng(4).integers(0, 400, (300, 2)), np.random.default_rng(5).uniform(0, 2, 300)
    sfa = SFA().fit_pairs(X, pairs, weights=weights)
    Y = sfa.transform(X)
    np.testing.assert_allclose(weights @ np.square(Y[pairs[:, 1]] - Y[pairs[:, 0]]) / weights.sum(), sfa.delta_values_)
    np.testing.assert_allclose(np.cov(Y.T, bias=True), np.eye(4), atol=1e-10)


@pytest.mark.parametrize(
    ("learn", "message"),
    [
        (lambda X: SFA().fit_pairs(X, [[0, 400]]), r"pair 0 is \(0, 400\), but there are only 400 rows of X"),
        (lambda X: SFA().fit_pairs(X, [[-1, 3]]), r"pair 0 is \(-1, 3\)"),
        (lambda X: SFA().fit_pairs(X, [[0, 1]], weights=[-2.0]), "not negative; pair 0 has -2"),
        (lambda X: SFA().fit_pairs(X, [[0, 1]], weights=[0.0]), "all of weights are zero"),
        (lambda X: SFA().fit_pairs(X, [[0, 1]], sample_weight=np.ones(5)), "sample_weight has 5 values, but X has 400"),
        (lambda X: SFA().fit_pairs(X, clustered_graph([0, 0])), "the graph has 2 samples, but X has 400"),
        (lambda X: SFA().fit_pairs(X, Graph([[0, 1]]), weights=[1.0]), "weights cannot be used with a Graph"),
        (lambda X: SFA(lag=2).fit_pairs(X, [[0, 1]]), "fit_pairs needs lag=1"),
        (lambda X: SFA(n_delays=2).fit_pairs(X, [[0, 1]]), "fit_pairs needs n_delays=1"),
        (lambda X: SFA().partial_fit_pairs(X, X[:-1]), "X_from has 400 rows and X_to has 399"),
        (lambda X: SFA().fit_pairs(open_stream(X), [[0, 1]]), "X must be an array, not a stream"),
        (lambda X: SFA().fit(X, sample_weight=np.arange(400) % 2), "all pairs of samples have the weight 0"),
        (lambda X: SFA().fit(X, sample_weight=np.zeros(400)), "all of sample_weight are zero"),
        (lambda X: SFA().fit(X, sample_weight=-np.ones(400)), "sample 0 has -1"),
        (lambda X: SFA().fit(X, sample_weight=np.ones(3)), "sample_weight must be a list of length 400"),
    ],
)
def test_pairs_and_weights_that_make_no_sense_change_nothing(X, learn, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learn(X)
    fitted = SFA().fit(X)
    before = fitted.components_.copy()
    with pytest.raises(ValueError, match="pair 0"):
        fitted.fit_pairs(X, [[0, 400]])
    with pytest.raises(ValueError, match="sample 0"):
        fitted.partial_fit(X, sample_weight=-np.ones(400))
    with pytest.raises(ValueError, match="all pairs"):
        fitted.fit(X, sample_weight=np.arange(400) % 2)
    np.testing.assert_array_equal(fitted.components_, before)


def test_slowness_on_a_line_is_that_of_its_closed_form():
    """Two samples that are 2 apart, half of the time paired with themselves: ẏ² is 4 or 0, the variance is 1."""
    assert SFA().fit_pairs([[1.0], [-1.0]], [[0, 1], [1, 1]]).delta_values_ == pytest.approx([2.0])
    assert metrics.timescales([2.0])[0] != metrics.timescales([2.0])[0]  # no correlation: no time constant
