"""scikit-learn's splitters, with episodes and rows that are no longer neighbours."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from biosfa import SFA, BioSFA, GraphSFA, LocalSFA, OnlineSFA, TimeEmbedding
from biosfa.episodes import lengths_of
from tests.conftest import slow_mixture

LEARNERS = [SFA(2), OnlineSFA(2, random_state=0), LocalSFA(2, random_state=0), BioSFA(2, random_state=0)]


@pytest.fixture(scope="module")
def recording():
    """(sources, samples) of 6 episodes of 1,000 rows."""
    return slow_mixture(6000)


@pytest.fixture
def routing():
    """Metadata routing of scikit-learn."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@given(labels=st.lists(st.sampled_from("aab"), min_size=1, max_size=30), skipped=st.sets(st.integers(0, 60)))
def test_labels_and_numbers_give_the_lengths_of_runs(labels, skipped):
    numbers = [number for number in range(100) if number not in skipped][: len(labels)]
    runs = [1]
    for before, after, i, j in zip(labels, labels[1:], numbers, numbers[1:], strict=False):
        if before == after and j == i + 1:
            runs[-1] += 1
        else:
            runs.append(1)
    assert lengths_of(np.zeros((len(labels), 2)), None, labels, numbers).tolist() == runs


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_labels_and_numbers_do_what_lengths_do(learner, recording):
    X = recording[1][:3000]
    kept = np.r_[0:700, 900:1000, 1000:3000]
    label = np.repeat(["a", "b", "c"], 1000)[kept]
    ours = sklearn.clone(learner).fit(X[kept], episode=label, index=kept)
    theirs = sklearn.clone(learner).fit(X[kept], lengths=[700, 100, 1000, 1000])
    np.testing.assert_array_equal(ours.delta_values_, theirs.delta_values_)
    assert ours.score(X[kept], episode=label, index=kept) == theirs.score(X[kept], lengths=[700, 100, 1000, 1000])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_groups_are_cross_validated(learner, recording, routing):
    X, episode = recording[1], np.repeat(np.arange(6), 1000)
    learner = sklearn.clone(learner).set_fit_request(episode=True).set_score_request(episode=True)
    found = cross_val_score(learner, X, cv=GroupKFold(3), params={"episode": episode, "groups": episode})
    for score, (train, test) in zip(found, GroupKFold(3).split(X, groups=episode), strict=True):
        fitted = sklearn.clone(learner).fit(X[train], lengths=[1000] * 4)
        assert score == fitted.score(X[test], lengths=[1000] * 2)


def test_a_fold_from_the_middle_ends_the_episode_before_it(recording, routing):
    X, rows = recording[1], np.arange(6000)
    learner = SFA(2).set_fit_request(index=True).set_score_request(index=True)
    found = cross_val_score(learner, X, cv=KFold(3), params={"index": rows})
    without_middle = SFA(2).fit(np.concatenate([X[:2000], X[4000:]]), lengths=[2000, 2000])
    assert found[1] == without_middle.score(X[2000:4000])
    joined = SFA(2).fit(np.concatenate([X[:2000], X[4000:]]))
    assert found[1] != joined.score(X[2000:4000])


def test_a_grid_search_finds_the_lag(recording, routing):
    X = recording[1]
    learner = SFA(1).set_fit_request(index=True).set_score_request(index=True)
    search = GridSearchCV(learner, {"pca": [3, None]}, cv=TimeSeriesSplit(3)).fit(X, index=np.arange(len(X)))
    assert search.best_params_ == {"pca": None}  # the slow sources are not in the largest components


def test_graphs_need_no_episodes(routing):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.standard_normal((180, 4)) + y[:, None]
    groups = np.tile(np.arange(6), 30)
    assert len(cross_val_score(GraphSFA(1), X, y, cv=GroupKFold(3), params={"groups": groups})) == 3


def test_features_of_a_pipeline_have_one_row_per_row_of_the_input(recording):
    """Rows without all their delays are NaN, as in the files that the command writes."""
    sources, X = recording
    y = sources[:, 0]
    imputed = make_pipeline(SFA(2, n_delays=4), SimpleImputer(), LinearRegression()).fit(X, y)
    assert imputed.score(X, y) > 0.8
    trees = make_pipeline(SFA(2, n_delays=4), HistGradientBoostingRegressor(max_iter=20)).fit(X, y)
    assert trees.score(X, y) > 0.8
    with pytest.raises(ValueError, match=r"NaN(.|\n)*SimpleImputer|NaN(.|\n)*imputer"):
        make_pipeline(SFA(2, n_delays=4), LinearRegression()).fit(X, y)


def test_rows_without_delays_are_the_same_in_python_and_in_the_command(recording, tmp_path, command):
    X = recording[1][:500]
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "lengths").write_text("200 300")
    command("fit", "x.npy", "--components", "2", "--delays", "3", "--out", "m", "--episodes", "lengths", cwd=tmp_path)
    command("transform", "m", "x.npy", "--out", "y.npy", "--episodes", "lengths", cwd=tmp_path)
    ours = SFA(2, n_delays=3).fit(X, lengths=[200, 300]).transform(X, lengths=[200, 300])
    np.testing.assert_array_equal(np.isnan(ours[:, 0]), np.isin(np.arange(500), [0, 1, 200, 201]))
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), ours, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"episode": [0, 1]}, "episode must have one value per row of X, 3"),
        ({"index": [0.0, 1.0, 2.0]}, "index must have the number of each row"),
        ({"episode": [0, 0, np.nan]}, "episode has missing values"),
        ({"lengths": [3], "index": [0, 1, 2]}, "lengths cannot be used with episode or index"),
    ],
)
def test_bad_episodes_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SFA(1).fit(np.zeros((3, 1)), **settings)


def test_a_stream_has_its_own_episodes():
    from biosfa.io import open_stream

    with pytest.raises(ValueError, match="episode is for arrays"):
        SFA(1).fit(open_stream(np.zeros((3, 1))), episode=[0, 0, 0])


def test_pandas_output_has_the_index_of_the_input(recording):
    frame = pd.DataFrame(recording[1][:400], index=np.arange(1000, 1400)).add_prefix("c")
    for transformer in (SFA(2, n_delays=3), TimeEmbedding(n_delays=3)):
        features = transformer.set_output(transform="pandas").fit_transform(frame)
        assert list(features.index) == list(frame.index)
        assert features.isna().any(axis=1).sum() == 2
