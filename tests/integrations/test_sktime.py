"""The transformer of sktime: its own checks, panels as episodes, gaps, and updates."""

import numpy as np
import pytest

from biosfa import SFA
from tests.conftest import slow_mixture

pytest.importorskip("sktime")

import pandas as pd
from sklearn.preprocessing import StandardScaler
from sktime.utils.estimator_checks import check_estimator

from biosfa.integrations.sktime import SlowFeatures


def frame(X, index=None):
    return pd.DataFrame(X, columns=[f"sensor {i}" for i in range(X.shape[1])], index=index)


def panel(X, lengths):
    parts = np.split(X, np.cumsum(lengths)[:-1])
    return pd.concat({f"run {i}": frame(part) for i, part in enumerate(parts)}, names=["run", "time"])


def assert_same_model(found, expected):
    np.testing.assert_allclose(found.sfa_.components_, expected.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.sfa_.delta_values_, expected.delta_values_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore")  # of the host, about its own code
@pytest.mark.parametrize(
    "transformer",
    [SlowFeatures, SlowFeatures(1, n_delays=2, lag=2), SlowFeatures(1, pca=1, ridge=1e-6)],
    ids=["class", "delays", "pca"],
)
def test_it_passes_the_checks_of_sktime(transformer):
    results = check_estimator(transformer, raise_exceptions=True, verbose=False)
    assert set(results.values()) == {"PASSED"}
    assert len(results) > 100


def test_a_series_is_one_episode():
    sources, X = slow_mixture(5000)
    features = SlowFeatures(3).fit_transform(frame(X))
    assert list(features.columns) == ["sfa0", "sfa1", "sfa2"]
    np.testing.assert_allclose(features, SFA(3).fit_transform(X), rtol=1e-6, atol=1e-9)
    assert abs(np.corrcoef(features["sfa0"], sources[:, 0])[0, 1]) > 0.95


def test_instances_of_a_panel_are_episodes():
    _, X = slow_mixture(1000)
    lengths = [300, 100, 600]
    X[300:400] += 100.0
    runs = panel(X, lengths)
    model = SlowFeatures(2).fit(runs)
    assert_same_model(model, SFA(2).fit(X, lengths=lengths))
    assert model.transform(runs).index.equals(runs.index)


def test_a_panel_as_an_array_and_a_hierarchy_are_the_same_panel():
    _, X = slow_mixture(1000)
    expected = SFA(2).fit(X, lengths=[250] * 4)
    cube = X.reshape(4, 250, 10).swapaxes(1, 2)
    model = SlowFeatures(2).fit(cube)
    assert_same_model(model, expected)
    np.testing.assert_allclose(
        model.transform(cube), expected.transform(X).reshape(4, 250, 2).swapaxes(1, 2), rtol=1e-6, atol=1e-9
    )
    halves = {name: panel(half, [250] * 2) for name, half in zip("ab", np.split(X, 2), strict=True)}
    assert_same_model(SlowFeatures(2).fit(pd.concat(halves, names=["plant"])), expected)


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(1000),
        pd.date_range("2026-01-01", periods=1000, freq="10min"),
        pd.date_range("2026-01-01", periods=1000, freq="MS"),
        pd.period_range("2026-01", periods=1000, freq="M"),
        pd.timedelta_range("0s", periods=1000, freq="1s"),
    ],
    ids=["numbers", "dates", "months", "periods", "durations"],
)
def test_a_gap_in_time_ends_the_episode(index):
    _, X = slow_mixture(1000)
    assert_same_model(SlowFeatures(2).fit(frame(X, index)), SFA(2).fit(X))
    kept = np.r_[0:400, 500:1000]
    assert_same_model(SlowFeatures(2).fit(frame(X, index).iloc[kept]), SFA(2).fit(X[kept], lengths=[400, 500]))


def test_rows_after_a_gap_have_no_delays_from_before_it():
    _, X = slow_mixture(1000)
    series = frame(X).drop(index=range(400, 500))
    features = SlowFeatures(1, n_delays=3).fit_transform(series)
    assert list(features.index[features["sfa0"].isna()]) == [0, 1, 500, 501]


def test_update_continues_the_series():
    _, X = slow_mixture(1000)
    series = frame(X, pd.date_range("2026-01-01", periods=1000, freq="10min"))
    model = SlowFeatures(2).fit(series[:300]).update(series[300:301]).update(series[301:])
    assert_same_model(model, SFA(2).fit(X))


def test_update_after_a_gap_begins_an_episode():
    _, X = slow_mixture(1000)
    model = SlowFeatures(2).fit(frame(X)[:300]).update(frame(X)[400:])
    assert_same_model(model, SFA(2).fit(np.delete(X, range(300, 400), axis=0), lengths=[300, 600]))


def test_update_with_a_panel_begins_episodes():
    _, X = slow_mixture(1000)
    runs = panel(X, [500, 500])
    model = SlowFeatures(2).fit(runs.loc[["run 0"]]).update(runs.loc[["run 1"]])
    assert_same_model(model, SFA(2).fit(X, lengths=[500, 500]))


def test_missing_rows_break_if_asked_for():
    _, X = slow_mixture(1000)
    X[500, 3] = np.nan
    model = SlowFeatures(2, missing="break").fit(frame(X))
    assert_same_model(model, SFA(2, missing="break").fit(X))
    assert model.transform(frame(X)).isna().any(axis=1).sum() == 1
    with pytest.raises(ValueError, match="Input X contains NaN at row 500"):
        SlowFeatures(2).fit(frame(X))


def test_columns_keep_their_names():
    _, X = slow_mixture(1000)
    assert SlowFeatures().fit(frame(X)).sfa_.feature_names_in_[0] == "sensor 0"


def test_it_works_in_a_pipeline():
    _, X = slow_mixture(1000)
    features = (StandardScaler() * SlowFeatures(2)).fit_transform(frame(X))
    np.testing.assert_allclose(features, SFA(2).fit_transform(X / X.std(axis=0)), rtol=1e-6, atol=1e-9)


def test_too_little_input_is_named():
    with pytest.raises(ValueError, match="X is too short, or it varies in fewer dimensions than n_components"):
        SlowFeatures(2).fit(frame(np.ones((100, 2))))
