"""The expansion and the embedding as transformers."""

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from biosfa import QuadraticExpansion, TimeEmbedding


@pytest.fixture
def X():
    t = np.arange(400)
    return np.stack([np.sin(t / 20), np.sin(t / 3), np.cos(t / 2)], axis=1) + 0.01 * np.random.default_rng(0).normal(
        size=(400, 3)
    )


def test_quadratic_expansion_is_polynomial_features_of_degree_two(X):
    ours = QuadraticExpansion().fit(X)
    theirs = PolynomialFeatures(2, include_bias=False).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-15)
    names = ["a", "b", "c"]
    assert list(ours.get_feature_names_out(names)) == list(theirs.get_feature_names_out(names))
    assert ours.transform(X.astype(np.float32)).dtype == np.float32


def test_time_embedding_stays_within_episodes():
    X = np.arange(7.0)[:, None]
    embedded = TimeEmbedding(n_delays=3).fit_transform(X, lengths=[4, 2, 1])
    missing = [np.nan] * 3
    np.testing.assert_array_equal(embedded, [missing, missing, [2, 1, 0], [3, 2, 1], missing, missing, missing])
    assert list(TimeEmbedding(n_delays=2).fit(X).get_feature_names_out(["z"])) == ["z", "z[t-1]"]
