"""Exact SFA, its chunks, its rank, and independent solutions."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures

import biosfa
from biosfa import SFA, ConditioningWarning, GiveAwayWarning, OnlineSFA, RankDeficiencyWarning, metrics
from biosfa.estimators import Projection
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def X():
    return slow_mixture(5000, seed=1)[1] + 5.0


@pytest.mark.parametrize("lag", [1, 5])
def test_delta_is_two_minus_twice_the_autocorrelation_of_tica(X, lag):
    decomposition = pytest.importorskip("deeptime.decomposition", reason="deeptime is not installed")
    ours = SFA(lag=lag).fit(X).delta_values_
    theirs = decomposition.TICA(lagtime=lag, scaling=None).fit(X).fetch_model().singular_values
    np.testing.assert_allclose(ours, np.sort(2 - 2 * theirs), atol=20 * lag / len(X))


def test_sine_has_the_slowness_of_theory():
    """Features of a plane rotation: δ = 2 − 2 cos ω, the timescale of no decay."""
    t = np.arange(100_000)
    X = np.stack([np.sin(t / 10), np.cos(t / 10)], axis=1)
    np.testing.assert_allclose(SFA().fit(X).delta_values_, 2 - 2 * np.cos(0.1), rtol=1e-3)


def test_timescales_are_those_of_the_sources(mixture):
    np.testing.assert_allclose(SFA(3).fit(mixture[1]).timescales_, [200, 90, 40], rtol=0.05)


def test_features_are_white_ordered_and_reproduce_the_sources(mixture):
    sources, X = mixture
    sfa = SFA(3).fit(X)
    Y = sfa.transform(X)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(metrics.slowness(Y), sfa.delta_values_, rtol=1e-9)
    assert (np.diff(sfa.delta_values_) > 0).all()
    assert (np.abs(np.corrcoef(Y.T, sources.T)[:3, 3:].diagonal()) > 0.99).all()


@pytest.mark.filterwarnings("ignore::biosfa.ShortEpisodeWarning")
@given(
    cuts=st.lists(st.integers(0, 300), max_size=6),
    lengths=st.sampled_from([None, [300], [120, 1, 2, 177]]),
    n_delays=st.sampled_from([1, 3]),
    lag=st.sampled_from([1, 4]),
    expansion=st.sampled_from([None, "quadratic"]),
)
def test_chunks_change_nothing(cuts, lengths, n_delays, lag, expansion):
    X = slow_mixture(300, times=(30.0,), n_noise=2, seed=2)[1] + 7.0
    settings = {"n_components": 3, "n_delays": n_delays, "lag": lag, "expansion": expansion}
    whole = SFA(**settings).fit(X, lengths=lengths)
    chunked = SFA(**settings)
    ends = np.cumsum([300] if lengths is None else lengths)
    begin = 0
    for cut in sorted({*cuts, *ends}):
        if cut > begin:
            chunked.partial_fit(X[begin:cut])
            begin = cut
        if cut in ends:
            chunked.end_episode()
    np.testing.assert_allclose(chunked.delta_values_, whole.delta_values_, rtol=1e-9)
    np.testing.assert_allclose(chunked.components_, whole.components_, rtol=1e-6, atol=1e-9)
    assert chunked.n_samples_seen_ == whole.n_samples_seen_


def test_differences_do_not_cross_episodes():
    """Two constants one after the other are two episodes without any change."""
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.standard_normal((200, 1))
    X = np.concatenate([noise[:100] + 50, noise[100:] - 50])
    joined = SFA().fit(X)
    with pytest.warns(GiveAwayWarning, match="constant within episodes"):
        split = SFA().fit(X, lengths=[100, 100])
    jump = 100.0**2 / X.var()
    assert joined.delta_values_[0] * 199 - split.delta_values_[0] * 198 == pytest.approx(jump, rel=0.01)


def test_merging_is_seeing_all():
    X = slow_mixture(3000, seed=3)[1]
    parts = [SFA(3).fit(part) for part in np.split(X, 3)]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    whole = SFA(3).fit(X, lengths=[1000, 1000, 1000])
    np.testing.assert_allclose(merged.delta_values_, whole.delta_values_, rtol=1e-10)
    np.testing.assert_allclose(merged.mean_, whole.mean_, atol=1e-12)
    with pytest.raises(ValueError, match="can be merged"):
        merged.merge(SFA(3, lag=2).fit(X))


def test_quadratic_expansion_inside_is_the_one_outside(X):
    outside = SFA(2).fit(PolynomialFeatures(2, include_bias=False).fit_transform(X[:, :4]))
    for expansion in ("quadratic", PolynomialFeatures(2, include_bias=False)):
        inside = SFA(2, expansion=expansion).fit(X[:, :4])
        np.testing.assert_allclose(inside.delta_values_, outside.delta_values_, rtol=1e-9)


def test_units_of_columns_do_not_matter(X):
    scale = np.geomspace(1e-9, 1e9, X.shape[1])
    plain, scaled = SFA(3).fit(X), SFA(3).fit(X * scale)
    assert scaled.rank_ == X.shape[1]
    np.testing.assert_allclose(scaled.delta_values_, plain.delta_values_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(scaled.transform(X * scale)), np.abs(plain.transform(X)), atol=1e-4)


def test_rank_deficient_input_is_reported_and_solved(X):
    dependent = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)])
    with pytest.warns(RankDeficiencyWarning, match="12 columns but rank 10.*x11") as caught:
        sfa = SFA(3).fit(dependent)
    assert len(caught) == 1
    assert sfa.rank_ == 10
    assert len(sfa.redundant_features_) == 2
    assert 11 in sfa.redundant_features_
    rest = np.setdiff1d(np.arange(12), sfa.redundant_features_)
    assert np.linalg.matrix_rank(dependent[:, rest] - dependent[:, rest].mean(axis=0)) == 10
    np.testing.assert_allclose(sfa.delta_values_, SFA(3).fit(X).delta_values_, rtol=1e-9)
    with pytest.raises(ValueError, match="n_components=11 exceeds the rank 10"):
        SFA(11).fit(dependent)


def test_ridge_keeps_features_of_tiny_variance_out():
    rng = np.random.default_rng(0)
    fast, tiny = rng.standard_normal(5000), 1e-6 * np.sin(np.arange(5000) / 100)
    fast = fast - 0.1 * np.append(fast[1:], 0)  # δ a little above 2, that of noise
    X = np.stack([fast, tiny], axis=1)
    assert abs(np.corrcoef(SFA(1).fit(X).transform(X)[:, 0], tiny)[0, 1]) > 0.999
    robust = SFA(2, ridge=1e-3).fit(X)
    noisy = SFA(2).fit(X + rng.normal(scale=np.sqrt(1e-3 * X.var(axis=0).mean()), size=X.shape))
    np.testing.assert_allclose(robust.delta_values_, noisy.delta_values_, rtol=0.05)


def test_signs_are_fixed_and_outputs_keep_their_dtype(X):
    sfa = SFA(3).fit(X)
    largest = np.abs(sfa.components_).argmax(axis=1)
    assert (sfa.components_[np.arange(3), largest] > 0).all()
    again = SFA(3).fit(X[:, ::-1])
    assert (np.abs(again.components_).max(axis=1) == again.components_.max(axis=1)).all()
    assert sfa.transform(X.astype(np.float32)).dtype == np.float32
    assert sfa.transform(X).dtype == np.float64


def test_a_large_offset_costs_no_digits(X):
    np.testing.assert_allclose(SFA(3).fit(X + 1e6).delta_values_, SFA(3).fit(X).delta_values_, rtol=1e-6)


def test_partial_fit_takes_single_rows_and_says_what_is_missing(X):
    sfa = SFA(3).partial_fit(X[:1])
    with pytest.raises(ValueError, match="not fitted"):
        sfa.transform(X)
    for row in X[1:50]:
        sfa.partial_fit(row[None])
    np.testing.assert_allclose(sfa.delta_values_, SFA(3).fit(X[:50]).delta_values_, rtol=1e-9)


@pytest.mark.parametrize("n", [100, 30_000])
def test_a_constant_that_binary_cannot_hold_is_constant(n):
    X = np.column_stack([np.random.default_rng(0).standard_normal((n, 3)), np.full(n, 0.1)])
    with pytest.warns(RankDeficiencyWarning, match="x3: constant"):
        sfa = SFA(1).fit(X)
    assert sfa.rank_ == 3
    assert sfa.delta_values_[0] > 1
    assert metrics.slowest(X, 1)[0] > 1


def test_columns_that_depend_on_one_another_are_named():
    X = np.random.default_rng(0).standard_normal((500, 4))
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 2]])
    with pytest.warns(
        RankDeficiencyWarning, match=r"5 columns but rank 4 \(x[024]: linear combinations among x0, x2, x4\)"
    ):
        SFA(1).fit(X)


def test_samples_that_overflow_are_refused_and_change_nothing(X):
    sfa, undisturbed = SFA(2).partial_fit(X), SFA(2).partial_fit(X)
    bad = X.copy()
    bad[3, 2] = 1e200
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="squares overflow"):
        sfa.partial_fit(bad)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="squares overflow"):
        sfa.partial_fit(np.full((1, 10), 1e160), lengths=[1])
    np.testing.assert_array_equal(sfa.partial_fit(X).delta_values_, undisturbed.partial_fit(X).delta_values_)


@pytest.fixture
def solved(monkeypatch):
    """How often the eigenproblem was solved, as a list that grows."""
    calls, plain = [], SFA._solve
    monkeypatch.setattr(SFA, "_solve", lambda self, moments: calls.append(moments.n_samples) or plain(self, moments))
    return calls


def test_the_eigenproblem_is_solved_when_somebody_asks_and_once_per_change(X, solved):
    sfa = SFA(2).fit(X[:500])
    assert solved == [500]
    for rows in np.array_split(X[500:], 10):
        sfa.partial_fit(rows)
    assert solved == [500]
    for _ in range(2):
        sfa.transform(X), sfa.delta_values_, sfa.rank_, sfa.transform_one(X[0])
    assert solved == [500, len(X)]
    whole = SFA(2).fit(X, lengths=[500, len(X) - 500])
    np.testing.assert_allclose(sfa.components_, whole.components_, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        sfa.components_[0, 0] = 1.0


def test_readers_of_a_stale_model_in_many_threads_agree(X):
    sfa = SFA(3).partial_fit(X)
    expected = SFA(3).fit(X).transform(X)
    with ThreadPoolExecutor(8) as pool:
        for features in pool.map(lambda _: sfa.transform(X), range(16)):
            np.testing.assert_array_equal(features, expected)


def test_reading_a_stale_model_publishes_the_solution_and_changes_nothing_else(X):
    sfa = SFA(2).partial_fit(X)
    before = {name: value for name, value in vars(sfa).items() if name != "_solution"}
    for twin in (copy.deepcopy(sfa), pickle.loads(pickle.dumps(sfa))):
        np.testing.assert_array_equal(twin.transform(X), sfa.transform(X))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(twin)).components_, twin.components_)
    after = vars(sfa)
    assert set(after) - {"_solution"} == set(before)
    assert all(after[name] is value for name, value in before.items())


def test_a_loaded_model_has_its_solution_and_solves_again_only_after_more_learning(X, tmp_path, solved):
    SFA(2).fit(X[:500]).save(tmp_path / "model")
    loaded = biosfa.load(tmp_path / "model")
    loaded.transform(X)
    assert solved == [500]
    assert loaded.partial_fit(X[500:]).delta_values_.shape == (2,)
    assert solved == [500, len(X)]


def test_the_score_is_that_of_the_lag_and_not_defined_without_variance(X):
    for lag in (1, 7):
        sfa = SFA(2, lag=lag).fit(X)
        assert sfa.score(X) == pytest.approx(-sfa.delta_values_.mean(), rel=1e-9)
    with pytest.raises(ValueError, match="no two samples 7 apart"):
        sfa.score(X[:5])
    for constant in (np.full((50, X.shape[1]), 0.1), np.zeros((50, X.shape[1]))):
        with pytest.raises(ValueError, match="do not vary on X"):
            sfa.score(constant)


@pytest.mark.parametrize(("tilt", "digits"), [(2e-6, 3), (2e-7, 1)])
def test_columns_that_nearly_depend_on_others_are_warned_about_with_the_digits_left(X, tilt, digits):
    """Two equal columns but for noise of this size have correlations of condition 4/tilt²."""
    noise = np.random.default_rng(0).standard_normal(len(X))
    near = np.column_stack([X, X[:, 0] / X[:, 0].std() + tilt * noise])
    with pytest.warns(ConditioningWarning, match=f"about {digits} digit"):
        SFA(2).fit(near)


def test_a_counter_a_clock_and_what_is_constant_within_episodes_are_named(X):
    n = len(X)
    lengths = [n // 2, n - n // 2]
    frame = pd.DataFrame(X, columns=[f"ch{i}" for i in range(X.shape[1])])
    frame["count"] = np.arange(n)
    frame["run"] = np.repeat([0.0, 1.0], lengths)
    with pytest.warns(GiveAwayWarning, match=r"as slowly as a counter or a clock.*: count, run\."):
        SFA(2).fit(frame, lengths=lengths)
    SFA(2).fit(X, lengths=[10] * (n // 10))  # short episodes do not make clocks
    frame = frame.drop(columns=["count", "run"]).assign(year=np.sin(2 * np.pi * np.arange(n) / n))
    SFA(2).fit(frame)  # one period of a sine comes back


@pytest.mark.parametrize("learner", [SFA(2), SFA(2, pca=4, n_delays=2), OnlineSFA(2, random_state=0)], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_clock_with_gaps_is_named(learner, sign, X):
    """A gap of a third of the recording: the differences within episodes alone do not look slow."""
    n = len(X)
    frame = pd.DataFrame(X, columns=[f"ch{i}" for i in range(X.shape[1])])
    clock = sign * (np.arange(n) + n / 3 * (np.arange(n) >= n // 2) + 9 * (np.arange(n) >= n // 4))
    given_away = frame.assign(clock=clock, energy=clock // 7)  # a counter that often stands still
    with pytest.warns(GiveAwayWarning, match=r"only rise or only fall.*: clock, energy"):
        learner.fit(given_away, lengths=[n // 4, n // 2 - n // 4, n - n // 2])
    with pytest.warns(GiveAwayWarning, match=r": clock, energy"):
        learner.fit(given_away)


def test_slow_signals_are_no_clocks(X):
    """A random walk, a drift with noise, a position that comes back, a valve that is opened in some steps."""
    n, rng = len(X), np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=[f"ch{i}" for i in range(X.shape[1])])
    frame["walk"] = rng.standard_normal(n).cumsum()
    frame["drift"] = np.arange(n) / n + 0.02 * rng.standard_normal(n)
    frame["comes back"] = np.minimum(np.arange(n) % 500, 400 - np.arange(n) % 500 / 2)
    frame["valve"] = np.floor(np.linspace(0, 9.5, n)) + 5 * (np.arange(n) % 50 == 0)
    frame["restarts"] = np.arange(n) % 100
    SFA(2).fit(frame)
    SFA(2).fit(frame, lengths=[100] * (n // 100))


def test_settings_count_alike_whether_somebody_has_read_before_or_not(X):
    read, unread = SFA(2).partial_fit(X), SFA(2).partial_fit(X)
    assert read.components_.shape == (2, X.shape[1])
    for sfa in (read, unread):
        sfa.set_params(n_components=3, ridge=0.1)
    np.testing.assert_array_equal(read.components_, unread.components_)
    np.testing.assert_allclose(read.components_, SFA(2, ridge=0.1).fit(X).components_, rtol=1e-9)


def test_features_are_those_of_one_moment_though_somebody_learns_meanwhile(X):
    sfa = SFA(1).fit(X)
    expected = sfa.transform(X[:5])
    projection = Projection.of(sfa)
    sfa.partial_fit(100 * X + 1000)
    np.testing.assert_allclose((X[:5] - projection.mean) @ projection.components.T, expected)
    mean, components = sfa._map()
    np.testing.assert_array_equal(mean, sfa.mean_)
    np.testing.assert_array_equal(components, sfa.components_)
