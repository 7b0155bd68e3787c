"""Cross-validation against its literal form, and what it prefers."""

import numpy as np
import pytest

from biosfa.io import open_stream
from biosfa.kernels.exact import slow_directions
from biosfa.selection import cross_validate, vamp2_score
from biosfa.selection._blocks import blocks_of
from biosfa.selection._signal import Signal
from tests.selection.test_timescales import mixed


def of_pairs(X, later, lag):
    """(C₀, C_ẋẋ) of the pairs that end in some rows."""
    later = later[later >= lag]
    both, change = np.concatenate([X[later], X[later - lag]]), X[later] - X[later - lag]
    return np.cov(both.T, bias=True), change.T @ change / len(later)


@pytest.mark.parametrize(("lag", "score_lag", "gap"), [(1, 1, 40), (2, 5, 40), (1, 60, 0)])
def test_scores_are_those_of_the_literal_form(lag, score_lag, gap):
    X, n_folds = mixed([30, 10, 2, 1], 3000, seed=0), 4
    apart = gap + max(lag, score_lag)  # no pair has a row in common with another on the other side
    found = cross_validate(X, n_components=[1, 2], lag=lag, score_lag=score_lag, n_folds=n_folds, gap=gap)
    ends = np.cumsum(blocks_of(Signal(open_stream(X)), [lag]).n_rows)
    begins = np.concatenate([[0], ends[:-1]])
    nearest = [int(begins[np.abs(begins - len(X) * i / n_folds).argmin()]) for i in range(n_folds)]
    edges = [*nearest, len(X)]
    for fold in range(n_folds):
        first, last = edges[fold], edges[fold + 1]
        kept = [np.arange(a, b) for a, b in zip(begins, ends, strict=True) if b <= first - apart or a >= last + apart]
        train, test = of_pairs(X, np.concatenate(kept), lag), of_pairs(X, np.arange(first, last), score_lag)
        W = slow_directions(*train, n_components=2).directions
        delta = np.array([w @ test[1] @ w / (w @ test[0] @ w) for w in W])
        within = slow_directions(W @ test[0] @ W.T, W @ test[1] @ W.T).delta_values
        one, two = found.candidates
        np.testing.assert_allclose(one.delta_values[fold], delta[:1], rtol=1e-8)
        np.testing.assert_allclose(two.delta_values[fold], delta, rtol=1e-8)
        np.testing.assert_allclose(one.vamp2[fold], (1 - delta[0] / 2) ** 2, rtol=1e-8)
        np.testing.assert_allclose(two.vamp2[fold], np.square(1 - within / 2).sum(), rtol=1e-8)


def test_fewer_delays_and_components_come_from_the_same_sums():
    X = mixed([30, 10, 2, 1], 4000, seed=1)
    together = cross_validate(X, n_components=2, n_delays=[1, 3], pca=[None, 3], gap=4)
    for n_delays, pca in ((1, None), (1, 3), (3, None), (3, 3)):
        alone = cross_validate(X, n_components=2, n_delays=n_delays, pca=pca, gap=4).candidates[0]
        same = next(each for each in together.candidates if (each.n_delays, each.pca) == (n_delays, pca))
        # the two rows at the beginning without all delays are the only difference
        np.testing.assert_allclose(same.delta_values, alone.delta_values, rtol=0.05)


def test_a_product_of_columns_is_found_by_the_quadratic_expansion():
    rng = np.random.default_rng(0)
    sign, noise = rng.choice([-1.0, 1.0], 4000), rng.standard_normal(4000)
    X = np.column_stack([sign * np.sin(np.arange(4000) / 80), sign, noise])  # the product of two columns is a slow sine
    found = cross_validate(X, n_components=[1, 2], expansion=[None, "quadratic"])
    assert found.best(1).expansion == "quadratic"
    assert found.best(1).slowness < 0.1 < found.candidates[0].slowness
    assert {row["expansion"] for row in found.table()} == {None, "quadratic"}


def test_features_that_fit_noise_do_worse_on_other_data():
    X = np.random.default_rng(0).standard_normal((600, 40))
    assert cross_validate(X, n_components=1).candidates[0].slowness > 1.8
    assert vamp2_score(X) > 1.0  # in sample, they look as if they had memory


def test_too_few_features_give_no_score():
    found = cross_validate(mixed([5, 1], 1000, seed=0), n_components=[1, 3])
    assert np.isnan(found.candidates[1].slowness)
    with pytest.raises(ValueError, match="no candidate has 3 features"):
        found.best(3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_folds": 1}, "n_folds must be at least 2"),
        ({"n_folds": 200}, "too few for 200 folds: give at least 3200"),
        ({"gap": 5000}, "leaves no rows to learn from"),
        ({"lag": 2000}, "no two rows of an episode are 2000 rows apart"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(mixed([5, 1], 1000, seed=0), **settings)


def test_folds_begin_with_episodes_and_those_that_are_cut_are_counted():
    X = mixed([5, 1], 4000, seed=0)
    assert cross_validate(X, lengths=[10] * 400).n_cut == 0
    assert cross_validate(X, lengths=[2000, 2000]).n_cut == 4
    assert cross_validate(X).n_cut == 4
