"""Exact SFA with labels."""

import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from biosfa import SFA, ConditioningWarning, GraphSFA, RankDeficiencyWarning
from biosfa.graphs import Graph, clustered_graph, nearest_neighbour_graph, serial_graph
from biosfa.io import open_stream


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_the_clustered_graph_gives_fishers_discriminants(load):
    X, y = load(return_X_y=True)
    k = len(np.unique(y)) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankDeficiencyWarning)  # digits have empty pixels
        graph = GraphSFA(k).fit(X, y)
    found, wanted = graph.transform(X), LinearDiscriminantAnalysis().fit(X, y).transform(X)
    assert subspace_angles(found - found.mean(axis=0), wanted - wanted.mean(axis=0)).max() < 1e-6


def noisy_curve(n=600, seed=0):
    """A latent t that 100 channels show through bent curves and much noise, some of it shared."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 1, n)
    latent = np.stack([np.sin(np.pi * t), np.cos(2 * np.pi * t), t**2], axis=1)
    X = latent @ rng.standard_normal((3, 100)) + 3.0 * rng.standard_normal((n, 8)) @ rng.standard_normal((8, 100))
    return X + rng.standard_normal((n, 100)), t


def test_features_of_the_serial_graph_predict_labels_better_than_principal_components():
    X, t = noisy_curve()
    scores = {
        name: cross_val_score(make_pipeline(reduce, LinearRegression()), X, t, scoring="r2", cv=5).mean()
        for name, reduce in {"graph": GraphSFA(3, graph="serial"), "pca": PCA(3)}.items()
    }
    assert scores["graph"] > 0.5
    assert scores["pca"] < 0.2


def test_in_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(GraphSFA(1), LogisticRegression()),
        {"graphsfa__ridge": [0.0, 1e3], "graphsfa__n_components": [1, 2]},
    ).fit(X, y)
    assert search.best_params_["graphsfa__ridge"] == 0.0
    assert search.best_score_ > 0.95


def test_score_is_the_mean_similarity_on_other_samples():
    X, y = load_iris(return_X_y=True)
    model = GraphSFA(2).fit(X[::2], y[::2])
    Y = model.transform(X[1::2])
    within = sum(2 * np.square(Y[y[1::2] == c] - Y[y[1::2] == c].mean(axis=0)).sum(axis=0) for c in range(3)) / len(Y)
    assert model.score(X[1::2], y[1::2]) == pytest.approx(-np.mean(within / Y.var(axis=0)))


def test_score_of_few_samples_is_that_of_the_classes_and_groups_that_they_have():
    X, y = load_iris(return_X_y=True)
    model = GraphSFA(2).fit(X, y)
    few = np.r_[0:5, 50:55, 100]  # only one sample of the last class
    assert model.score(X[few], y[few]) == model.score(X[few[:-1]], y[few[:-1]])
    with pytest.raises(ValueError, match="no class has two of these samples"):
        model.score(X[::50], y[::50])
    rare = np.append(np.where(y == 2, 1, y), [7] * 5)
    scores = cross_val_score(GraphSFA(1), np.vstack([X, X[:5]]), rare, cv=5)
    assert np.isfinite(scores).all()
    serial = GraphSFA(1, graph="serial", n_groups=40)
    assert np.isfinite(cross_val_score(serial, X, X[:, 0], cv=5)).all()


def test_features_of_numbers_do_not_depend_on_the_order_of_the_samples():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    found = [GraphSFA(2, graph="serial").fit(X[i], y[i]).delta_values_ for i in (np.arange(len(X)), order)]
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_nothing_changes_after_an_error():
    X, y = load_iris(return_X_y=True)
    model = GraphSFA(2).fit(X, y)
    before = model.components_.copy()
    with pytest.raises(ValueError, match="only one sample"):
        model.fit(X, np.append(y[:-1], 7))
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize("options", [{}, {"pca": 3}, {"expansion": "quadratic", "ridge": 1e-3}], ids=str)
def test_it_is_sfa_of_the_pairs_of_the_graph(options):
    X, y = load_iris(return_X_y=True)
    graph = clustered_graph(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model, pairs = GraphSFA(2, **options).fit(X, y), SFA(2, **options).fit_pairs(X, graph)
        given = GraphSFA(2, graph=graph, **options).fit(X)
    np.testing.assert_array_equal(model.components_, pairs.components_)
    np.testing.assert_array_equal(model.components_, given.components_)


def test_any_graph_of_the_rows_will_do():
    """Features of a graph of neighbours vary smoothly along a curve: they are the harmonics of its length."""
    t = np.linspace(0, 1, 400)
    X = np.stack([np.cos(np.pi * j * t) for j in range(1, 9)], axis=1) @ np.random.default_rng(0).standard_normal(
        (8, 8)
    )
    Y = GraphSFA(2, graph=nearest_neighbour_graph(X, 3)).fit_transform(X)
    for j, feature in enumerate(Y.T):
        assert abs(np.corrcoef(feature, np.cos(np.pi * (j + 1) * t))[0, 1]) > 0.98


def test_models_come_back_from_files(tmp_path):
    X, t = noisy_curve(200)
    model = GraphSFA(3, graph="serial", n_groups=20, pca=40).fit(X, t)
    model.save(tmp_path / "model")
    loaded = GraphSFA.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.get_params() == model.get_params()
    given = GraphSFA(3, graph=serial_graph(t), pca=40).fit(X)
    given.save(tmp_path / "model")
    loaded = GraphSFA.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), given.transform(X))
    assert loaded.score(X) == given.score(X)  # the graph is in the file, too
    np.testing.assert_array_equal(GraphSFA.load(tmp_path / "model", graph="serial").transform(X), given.transform(X))


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda X, y: GraphSFA().fit(X), "requires y to be passed, but the target y is None"),
        (lambda X, y: GraphSFA().fit(X, y[:-1]), "y must have one label per row of X, 150"),
        (lambda X, y: GraphSFA().fit(X, np.append(y[:-1], 7)), "class 7 has only one sample"),
        (lambda X, y: GraphSFA(graph="circle").fit(X, y), "graph must be one of 'clustered', 'serial'"),
        (lambda X, y: GraphSFA(graph=Graph([[0, 1]], groups=[0, 1])).fit(X), "the graph has 2 samples, but X has 150"),
        (lambda X, y: GraphSFA().fit(open_stream(X), y), "X must be an array, not a stream"),
        (lambda X, y: GraphSFA(9).fit(X, y), "n_components=9 exceeds"),
    ],
)
def test_mistakes_are_named(fit, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match=message):
        fit(X, y)
