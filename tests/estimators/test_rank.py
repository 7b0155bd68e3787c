"""The rank is that of the data: exact dependence is found by every road, and columns that nearly depend count."""

import warnings

import numpy as np
import pytest

from biosfa import SFA, GraphSFA, RankDeficiencyWarning
from biosfa.exceptions import ConditioningWarning, ShortEpisodeWarning
from biosfa.io import open_stream
from biosfa.kernels.exact import slow_directions
from biosfa.kernels.exact.eigen import rounding_of_sums
from tests.selection.test_timescales import processes

N = 3000


def states(rng, shares):
    """One-hot columns of states that last 25 rows; each occurs."""
    chosen = rng.choice(len(shares), N // 25, p=shares)
    chosen[: len(shares)] = np.arange(len(shares))
    return np.eye(len(shares))[np.repeat(chosen, 25)]


def one_hot(rng):
    return np.column_stack([states(rng, [1 / 3] * 3), rng.standard_normal(N)]), 3


def rare_states(rng):
    return np.column_stack([states(rng, [0.9, 0.08, 0.02]) / 7, rng.standard_normal(N)]), 3


def two_sets_of_states(rng):
    return np.column_stack([states(rng, [0.5, 0.5]), states(rng, [0.25] * 4), rng.standard_normal(N)]), 5


def shares(rng):
    x = np.exp(processes([20] * 4, N, rng))
    return x / x.sum(axis=1, keepdims=True), 3


def counts(rng):
    x = rng.poisson(3, (N, 4)).astype(np.float64)
    return np.column_stack([x, x.sum(axis=1)]), 4


def units(rng):
    x = 20 + processes([20] * 2, N, rng)
    return np.column_stack([x, x[:, 0] + 273.15, 1.8 * x[:, 1] + 32]), 2


def referenced(rng):
    x = rng.standard_normal((N, 8)).cumsum(axis=0)
    return x - x.mean(axis=1, keepdims=True), 7


KINDS = (one_hot, rare_states, two_sets_of_states, shares, counts, units, referenced)


def in_order(X, rng):
    return SFA().fit(X)


def shuffled(X, rng):
    return SFA().fit(X[rng.permutation(N)])


def in_episodes(X, rng):
    return SFA().fit(X, lengths=[N // 2, 7, N - N // 2 - 7])


def with_gaps(X, rng):
    X = X.copy()
    X[rng.random(N) < 0.1, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortEpisodeWarning)
        return SFA(missing="break").fit(X)


def weighted(X, rng):
    return SFA().fit(X, sample_weight=rng.uniform(0.1, 2.0, N))


def in_chunks(X, rng):
    model = SFA()
    for chunk in np.array_split(X, 100):
        model.partial_fit(chunk)
    return model


def merged(X, rng):
    return SFA().fit(X[: N // 3]).merge(SFA().fit(X[N // 3 :]))


def streamed(X, rng):
    return SFA().fit(open_stream(X, chunk_size=123))


def at_times(X, rng):
    return SFA().fit(X, time=rng.uniform(0.5, 1.5, N).cumsum())


def delayed_pairs(X, rng):
    return SFA(lag=3).fit(X)


def as_classes(X, rng):
    return GraphSFA().fit(X, rng.integers(0, 3, N))


def on_workers(X, rng):
    da = pytest.importorskip("dask.array")
    return SFA().fit(da.from_array(X, chunks=(700, -1)))


ROADS = (
    *(in_order, shuffled, in_episodes, with_gaps, weighted, in_chunks),
    *(merged, streamed, at_times, delayed_pairs, as_classes, on_workers),
)


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_exact_dependence_is_found_by_every_road(kind, road):
    rng = np.random.default_rng(0)
    for _ in range(2):
        X, rank = kind(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankDeficiencyWarning)
            model = road(X, rng)
        assert model.rank_ == rank
        assert model.rank_ + len(model.redundant_features_) == X.shape[1]
        if road is not weighted and road is not at_times:  # there, the variance is that of weighted samples
            np.testing.assert_allclose(np.nanstd(model.transform(X), axis=0), 1.0, rtol=0.1)


@pytest.mark.parametrize("order", ["in order", "shuffled"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_columns_that_nearly_depend_count(kind, order):
    """Noise of 1e-6 of the deviation of a column is far above the rounding errors of the samples."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        X, rank = kind(rng)
        taking_part = [column for column in range(X.shape[1]) if rank_of(np.delete(X, column, axis=1)) == rank]
        column = rng.choice(taking_part)
        X[:, column] += 1e-6 * X[:, column].std() * rng.standard_normal(N)
        if order == "shuffled":
            X = rng.permutation(X)
        with warnings.catch_warnings():
            for known in (RankDeficiencyWarning, ConditioningWarning):
                warnings.simplefilter("ignore", known)
            assert SFA().fit(X).rank_ == rank + 1


def rank_of(X):
    """Rank of centred samples, from their singular values, which are not squared."""
    centred = X - X.mean(axis=0)
    return np.linalg.matrix_rank(centred / centred.std(axis=0), tol=1e-8 * np.sqrt(len(X)))


def test_samples_of_single_precision_depend_within_their_own_rounding():
    rng = np.random.default_rng(2)
    for kind in (shares, units):
        X, rank = kind(rng)
        with pytest.warns(RankDeficiencyWarning):
            assert SFA().fit(X.astype(np.float32)).rank_ == rank


def test_what_was_rounded_is_saved(tmp_path):
    X, rank = shares(np.random.default_rng(3))
    with pytest.warns(RankDeficiencyWarning):
        model = SFA().fit(X.astype(np.float32))
    model.save(tmp_path / "model.safetensors")
    later = SFA.load(tmp_path / "model.safetensors").set_params(ridge=1e-300)  # solves again
    assert later.rank_ == rank


def test_a_column_that_changes_slowly_and_little_counts():
    """A copy of a column that drifts away by 1e-5 of its deviation."""
    rng = np.random.default_rng(4)
    x, drift = processes([5, 300], N, rng).T
    X = np.column_stack([x, x + 1e-5 * drift])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model = SFA(1).fit(X)
    assert model.rank_ == 2
    assert abs(np.corrcoef(model.transform(X)[:, 0], drift)[0, 1]) > 0.99


def test_directions_that_are_kept_are_uncorrelated():
    """Two pairs of columns that nearly are copies, so nearly that their differences are about as large as rounding."""
    C_xx = np.kron(np.eye(2), np.ones((2, 2)))
    C_xx[0, 1] = C_xx[1, 0] = 1.0 - 2.0**-46
    C_xx[2, 3] = C_xx[3, 2] = 1.0 - 2.0**-44.5
    C_dot = np.eye(4) + 0.5 * C_xx
    C_dot[0, 3] = C_dot[3, 0] = 0.3
    found = slow_directions(C_xx, C_dot, rounding=rounding_of_sums(np.ones(4), 1e6))
    assert found.rank == 4
    np.testing.assert_allclose(found.directions @ C_xx @ found.directions.T, np.eye(4), atol=0.05)
