"""What all estimators do with input: principal components, memory, warnings."""

import numpy as np
import pytest

from biosfa import SFA, OnlineSFA, ShortEpisodeWarning
from biosfa.io import open_stream
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def X():
    return slow_mixture(3000, times=(30.0, 5.0), n_noise=3, seed=1)[1]


def test_principal_components_first(X):
    by_pca = SFA(2, pca=3, expansion="quadratic").fit(X)
    _, V = np.linalg.eigh(np.cov(X.T))
    reduced = (X - X.mean(axis=0)) @ V[:, ::-1][:, :3]
    np.testing.assert_allclose(
        by_pca.delta_values_, SFA(2, expansion="quadratic").fit(reduced).delta_values_, rtol=1e-8
    )
    by_stream = SFA(2, pca=3, expansion="quadratic").fit(open_stream(X, 100))
    np.testing.assert_allclose(by_stream.delta_values_, by_pca.delta_values_, rtol=1e-9)
    whitened = by_pca._signal.reduce(X)
    np.testing.assert_allclose(whitened.T @ whitened / len(X), np.eye(3), atol=1e-9)
    net = OnlineSFA(2, pca=3, random_state=0).fit(X)
    np.testing.assert_allclose(net.transform_one(X[7]), net.transform(X[7:8])[0], rtol=1e-9)
    assert list(by_pca.expanded_feature_names()[:4]) == ["pca0", "pca1", "pca2", "pca0^2"]
    with pytest.raises(ValueError, match="pca=9 exceeds the number of features"):
        SFA(2, pca=9).fit(X)
    with pytest.raises(ValueError, match="pca=5 exceeds the rank of the input, 3"):
        SFA(2, pca=5).fit(X[:, [0, 1, 2, 0, 1]])


def test_memory_is_asked_for_before_it_is_taken(monkeypatch, X):
    monkeypatch.setattr("biosfa.estimators._memory.available_memory", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"of 1,000 .*columns needs about 0\.1 GB.*pca=N.*OnlineSFA"):
        SFA(2).fit(np.zeros((2, 1000)))
    SFA(2).fit(X)


def test_models_of_other_principal_components_are_not_merged(X):
    with pytest.raises(ValueError, match="same principal components"):
        SFA(2, pca=3).fit(X[:1000]).merge(SFA(2, pca=3).fit(X[1000:]))


def test_warnings_point_to_the_caller(X):
    with pytest.warns(ShortEpisodeWarning) as said:
        SFA(2).fit(X, lengths=[1, len(X) - 1])
    assert said[0].filename == __file__
