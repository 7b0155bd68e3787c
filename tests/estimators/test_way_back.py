"""Patterns, and the reconstruction of the input."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import FunctionTransformer

from biosfa import SFA, BioSFA, GraphSFA, LocalSFA, OnlineSFA
from tests.conftest import deviation, slow_mixture

NETWORKS = [OnlineSFA, LocalSFA, BioSFA]


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((3000, 5)).cumsum(axis=1) + 10.0


def cosines(found, true):
    """Largest cosine of each true pattern with a pattern that was found."""
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (found, true)]
    return np.abs(unit[0] @ unit[1].T).max(axis=0)


def test_patterns_find_the_mixing_in_correlated_noise_where_weights_do_not():
    """Sensors see three slow sources, and four noises that several sensors share."""
    rng = np.random.default_rng(1)
    sources, _ = slow_mixture(100_000, times=(300.0, 100.0, 30.0), n_noise=1, seed=2)
    mixing, shared = rng.standard_normal((3, 12)), rng.standard_normal((4, 12))
    X = sources[:, :3] @ mixing + 2.0 * rng.standard_normal((len(sources), 4)) @ shared
    X += 0.1 * rng.standard_normal(X.shape)
    sfa = SFA(3).fit(X)
    assert (cosines(sfa.patterns_, mixing) > 0.99).all()
    assert (cosines(sfa.components_, mixing) < 0.9).any()
    for network in (OnlineSFA, LocalSFA):
        assert (cosines(network(3, random_state=0).fit(X).patterns_, mixing) > 0.97).all()


@pytest.mark.parametrize("model", [SFA(), SFA(pca=5), *(kind(5, random_state=0) for kind in NETWORKS)], ids=str)
def test_the_way_back_is_exact_at_full_rank(X, model):
    assert np.abs(model.fit(X).inverse_transform(model.transform(X)) - X).max() < 1e-9


@pytest.mark.parametrize("options", [{}, {"pca": 4}, {"n_delays": 3}, {"n_delays": 2, "pca": 3}], ids=str)
def test_patterns_and_reconstruction_are_those_of_the_data(X, options):
    sfa = SFA(2, **options).fit(X)
    Y, newest = sfa.transform(X)[sfa.n_delays - 1 :], X[sfa.n_delays - 1 :]
    if "pca" in options:  # what principal components leave out is not known
        pca = PCA(options["pca"]).fit(X)
        newest = pca.inverse_transform(pca.transform(newest))
    covariance = (Y - Y.mean(axis=0)).T @ (newest - newest.mean(axis=0)) / len(Y)
    tolerance = 1e-9 if sfa.n_delays == 1 else 2e-3  # with delays, means are over all rows
    assert sfa.patterns_.shape == (2, 5 * sfa.n_delays)
    assert deviation(sfa.patterns_[:, :5], covariance) < (1e-9 if "pca" not in options else tolerance)
    best = LinearRegression().fit(Y, newest).predict(Y)
    assert deviation(sfa.inverse_transform(Y), best) < tolerance


def test_patterns_refer_to_the_input_also_after_an_expansion(X):
    sfa = SFA(3, expansion="quadratic").fit(X)
    Y = sfa.transform(X)
    np.testing.assert_allclose(sfa.patterns_, (Y - Y.mean(axis=0)).T @ (X - X.mean(axis=0)) / len(X), atol=1e-9)
    net = OnlineSFA(2, expansion="quadratic", random_state=0).fit(X)
    assert net.patterns_.shape == (2, 5)
    with pytest.raises(ValueError, match="linear in the input"):
        sfa.inverse_transform(Y)


def test_after_a_transformer_of_the_user_sfa_does_not_know_the_patterns(X):
    squares = FunctionTransformer(np.square).fit(X)
    sfa = SFA(2, expansion=squares).fit(X)
    assert not hasattr(sfa, "patterns_")
    with pytest.raises(AttributeError, match="use OnlineSFA"):
        _ = sfa.patterns_
    assert OnlineSFA(2, expansion=squares, random_state=0).fit(X).patterns_.shape == (2, 5)


def test_the_way_back_of_labels(X):
    y = (X[:, 0] > 10).astype(int)
    model = GraphSFA().fit(X, y)
    assert np.abs(model.inverse_transform(model.transform(X)) - X).max() < 1e-9


def test_features_of_the_wrong_shape_are_refused(X):
    with pytest.raises(ValueError, match=r"Y must have the shape \(n_samples, 2\)"):
        SFA(2).fit(X).inverse_transform(X)
    with pytest.raises(ValueError, match="not fitted"):
        SFA(2).inverse_transform(X)


@pytest.mark.parametrize("kind", NETWORKS)
def test_patterns_need_two_samples(kind, X):
    network = kind(1, random_state=0).partial_fit(X[:1])
    with pytest.raises(AttributeError, match="there are no patterns yet: they need two consecutive samples"):
        _ = network.patterns_
    assert np.isfinite(network.partial_fit(X[1:2]).patterns_).all()


@pytest.mark.parametrize("kind", NETWORKS)
def test_patterns_of_networks_are_those_of_exact_sfa(kind):
    """They come from the covariance that the network learns; those of BioSFA from some 2000 stored pairs."""
    _, X = slow_mixture(50_000, times=(300.0, 30.0), n_noise=4, seed=2)
    found, exact = kind(2, random_state=0).fit(X), SFA(2).fit(X)
    assert (cosines(found.patterns_, exact.patterns_) > 0.97).all()
    if kind is not BioSFA:
        covariance = found._network.covariance()
        assert deviation(covariance, np.cov(X.T)) < 0.1
        np.testing.assert_allclose(found.patterns_, found.components_ @ covariance, rtol=1e-12)
