"""CuBICA against its definition, known sources and FastICA."""

import numpy as np
import pytest
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from biosfa import CuBICA
from biosfa.kernels.cumulants import best_angle


def mixed_sources(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.stack(
        [rng.exponential(size=n), rng.uniform(size=n), rng.laplace(size=n), rng.choice([-1.0, 1.0], n)], axis=1
    )
    return sources, sources @ rng.standard_normal((4, 6)) + rng.standard_normal(6)


def amari_error(unmixing, mixing):
    """0 where the product is a scaled permutation (Amari et al. 1996)."""
    P = np.abs(unmixing @ mixing)
    k = len(P)
    rows = (P / P.max(axis=1, keepdims=True)).sum() - k
    columns = (P / P.max(axis=0, keepdims=True)).sum() - k
    return (rows + columns) / (2 * k * (k - 1))


def test_sources_come_back_as_with_fastica():
    sources, X = mixed_sources()
    ica = CuBICA().fit(X)
    assert ica.components_.shape == (4, 6)  # the mixture has rank 4
    mixing = np.linalg.lstsq(sources - sources.mean(axis=0), X - X.mean(axis=0), rcond=None)[0].T
    ours = amari_error(ica.components_, mixing)
    theirs = amari_error(FastICA(4, fun="cube", random_state=0).fit(X).components_, mixing)
    assert ours < 0.02
    assert ours < 1.5 * theirs
    Y = ica.transform(X)
    np.testing.assert_allclose(np.cov(Y.T, bias=True), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(Y @ ica.mixing_.T + ica.mean_, X, atol=1e-8)


def test_best_angle_has_the_largest_contrast():
    """Against cumulants of rotated samples, at many angles."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        Z = np.stack([rng.exponential(size=500), rng.standard_t(5, size=500)], axis=1) @ rng.standard_normal((2, 2))
        Z = (Z - Z.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(Z.T, bias=True))).T

        def contrast(angle, Z=Z):
            Y = Z @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            return (np.mean(Y**3, axis=0) ** 2 / 6 + (np.mean(Y**4, axis=0) - 3) ** 2 / 24).sum()

        angle = best_angle(Z[:, 0], Z[:, 1])
        assert -np.pi / 4 <= angle <= np.pi / 4
        assert contrast(angle) >= max(contrast(a) for a in np.linspace(0, np.pi / 2, 721)) - 1e-12


def test_too_few_sweeps_are_said():
    _, X = mixed_sources(2000)
    with pytest.warns(ConvergenceWarning, match="max_sweeps"):
        CuBICA(max_sweeps=1, tol=1e-9).fit(X)


def test_rank_is_said():
    with pytest.raises(ValueError, match="rank 4"):
        CuBICA(5).fit(mixed_sources(2000)[1])
