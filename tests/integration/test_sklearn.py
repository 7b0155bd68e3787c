"""The estimators are scikit-learn citizens."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from biosfa import SFA, BioSFA, CuBICA, GraphSFA, LocalSFA, OfflineBioSFA, OnlineSFA, QuadraticExpansion, TimeEmbedding
from biosfa.metrics import slowness
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV

NEIGHBOURS = "a sample that is given twice is its own neighbour in time: its weight is another thing"
NEIGHBOURS_NEEDED = "the first row of an episode has no delay vector, and a batch of one row is an episode"


def expected_failures(estimator):
    if isinstance(estimator, SFA):
        return {"check_sample_weight_equivalence_on_dense_data": NEIGHBOURS}
    if not isinstance(estimator, TimeEmbedding):
        return {}
    return {
        "check_methods_subset_invariance": NEIGHBOURS_NEEDED,
        "check_methods_sample_order_invariance": "it depends on the order of the samples, which is its purpose",
    }


@pytest.mark.filterwarnings("ignore::biosfa.RankDeficiencyWarning")  # checks of weights have few samples
@parametrize_with_checks(
    [
        SFA(),
        SFA(n_components=1, expansion="quadratic"),
        GraphSFA(),
        GraphSFA(graph="serial"),
        BioSFA(),
        BioSFA(n_components=1, rule="reversible", expansion="quadratic"),
        BioSFA(rule="interneuron"),
        BioSFA(rule="nonnegative"),
        OnlineSFA(),
        OnlineSFA(n_components=1, whitening_rank=2, forget=50, dtype=np.float32),
        LocalSFA(),
        LocalSFA(n_components=1, forget=50, dtype=np.float32),
        OfflineBioSFA(max_iter=50),
        IncrementalSFA(),
        OnlineGEV(),
        FoldiakTrace(),
        QuadraticExpansion(),
        TimeEmbedding(),
        CuBICA(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture
def X():
    t = np.arange(400)
    return np.stack([np.sin(t / 20), np.sin(t / 3), np.cos(t / 2)], axis=1) + 0.01 * np.random.default_rng(0).normal(
        size=(400, 3)
    )


@pytest.mark.parametrize(
    "estimator", [SFA(2), BioSFA(2, random_state=0), OfflineBioSFA(2, random_state=0, max_iter=50)]
)
def test_set_output_gives_data_frames_with_the_names_of_the_features(estimator, X):
    names = [f"{type(estimator).__name__.lower()}{i}" for i in range(2)]
    plain = clone(estimator).fit_transform(X)
    pandas = clone(estimator).set_output(transform="pandas").fit_transform(X)
    polars = clone(estimator).set_output(transform="polars").fit_transform(X)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert list(pandas.columns) == list(polars.columns) == names
    np.testing.assert_array_equal(pandas.to_numpy(), plain)
    np.testing.assert_array_equal(polars.to_numpy(), plain)


def test_a_frame_with_other_columns_is_refused(X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    net = BioSFA(1, random_state=0).fit(frame)
    assert list(net.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        net.partial_fit(frame.rename(columns={"c": "d"}))


def test_in_a_pipeline_and_a_grid_search(X):
    pipeline = make_pipeline(StandardScaler(), SFA(1))
    search = GridSearchCV(pipeline, {"sfa__ridge": [0.0, 1e3]}, cv=TimeSeriesSplit(3)).fit(X)
    assert search.best_params_ == {"sfa__ridge": 0.0}
    train, test = next(TimeSeriesSplit(3).split(X))
    slow = slowness(clone(pipeline).fit(X[train]).transform(X[test]))
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(-slow.mean())
