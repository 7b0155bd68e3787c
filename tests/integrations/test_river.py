"""The transformers of river: its own checks, pipelines, frames, and dictionaries with other keys."""

import pickle

import numpy as np
import pytest

import biosfa
from tests.conftest import slow_mixture

pytest.importorskip("river")

import pandas as pd
import polars as pl
from river import checks, compose, evaluate, linear_model, metrics, preprocessing

from biosfa.integrations import river

TRANSFORMERS = [river.OnlineSFA, river.LocalSFA, river.BioSFA]
KEYS = [f"sensor {i}" for i in range(10)]
each = pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda transformer: transformer.__name__)


def dictionaries(X):
    return [dict(zip(KEYS, row.tolist(), strict=True)) for row in X]


def learned(transformer, X, **parameters):
    model = transformer(seed=0, **parameters)
    model.learn_many(pd.DataFrame(X, columns=KEYS))
    return model


@each
def test_it_passes_the_checks_of_river(transformer):
    checks.check_estimator(transformer())
    checks.check_estimator(transformer(n_components=1, forget=100, expansion="quadratic"))


@each
def test_the_only_checks_skipped_are_those_that_change_the_keys(transformer):
    for check in checks.yield_checks(transformer()):
        if check.__name__ in transformer()._unit_test_skips():
            with pytest.raises(ValueError, match="Every sample must have the keys of the first one"):
                check(transformer())


@each
def test_it_is_the_learner_of_the_same_name(transformer):
    _, X = slow_mixture(3000)
    model = transformer(3, seed=0)
    for x in dictionaries(X):
        model.learn_one(x)
    net = getattr(biosfa, transformer.__name__)(3, random_state=0).partial_fit(X)
    np.testing.assert_allclose(model.estimator.components_, net.components_, rtol=1e-6)
    np.testing.assert_allclose(list(model.transform_one(x).values()), net.transform(X)[-1], rtol=1e-6)
    assert list(model.transform_one(x)) == list(net.get_feature_names_out())


@each
def test_frames_are_learned_like_their_rows(transformer):
    _, X = slow_mixture(2000)
    single, many = transformer(seed=0), transformer(seed=0)
    for x in dictionaries(X):
        single.learn_one(x)
    for part in np.split(X, [300, 301, 1500]):
        many.learn_many(pd.DataFrame(part, columns=KEYS))
    rows = [single.transform_one(x) for x in dictionaries(X[:50])]
    found = many.transform_many(pd.DataFrame(X[:50], columns=KEYS, index=range(7, 57)))
    assert list(found.index) == list(range(7, 57))
    np.testing.assert_allclose(found, pd.DataFrame(rows), rtol=1e-6)


def test_frames_of_polars_stay_frames_of_polars():
    _, X = slow_mixture(2000)
    model = learned(river.OnlineSFA, X)
    theirs = model.transform_many(pl.DataFrame(X, schema=KEYS))
    assert isinstance(theirs, pl.DataFrame)
    np.testing.assert_array_equal(theirs, model.transform_many(pd.DataFrame(X, columns=KEYS)))


def test_the_order_of_the_keys_does_not_matter():
    _, X = slow_mixture(1000)
    model = learned(river.OnlineSFA, X)
    turned = river.OnlineSFA(seed=0)
    turned.learn_many(pd.DataFrame(X, columns=KEYS)[KEYS[::-1]])
    x = dictionaries(X[:1])[0]
    assert turned.transform_one(dict(reversed(x.items()))) == model.transform_one(x)


def test_keys_need_not_be_text():
    model = river.OnlineSFA(1, seed=0)
    for row in slow_mixture(100)[1]:
        x = dict(zip([("a", 1), 2, "b", *range(3, 10)], row, strict=True))
        model.learn_one(x)
    assert np.isfinite(model.transform_one(x)["onlinesfa0"])


@pytest.mark.parametrize("transformer", [river.OnlineSFA, river.LocalSFA])
def test_it_finds_a_slow_source_within_a_pipeline(transformer):
    sources, X = slow_mixture(30_000, times=(500.0,), n_noise=9)
    model = preprocessing.StandardScaler() | transformer(1, seed=0)
    for x in dictionaries(X):
        model.learn_one(x)
    found = [model.transform_one(x)[f"{transformer.__name__.lower()}0"] for x in dictionaries(X[-5000:])]
    assert abs(np.corrcoef(found, sources[-5000:, 0])[0, 1]) > 0.95


def test_a_model_behind_it_learns_from_slow_features():
    sources, X = slow_mixture(6000, times=(300.0,), n_noise=9)
    model = river.OnlineSFA(1, seed=0) | linear_model.LinearRegression()
    samples = list(zip(dictionaries(X), sources[:, 0].tolist(), strict=True))
    assert evaluate.progressive_val_score(samples, model, metrics.R2()).get() > 0.8


def test_it_stands_beside_other_transformers():
    _, X = slow_mixture(500)
    union = compose.TransformerUnion(river.OnlineSFA(1, seed=0), river.LocalSFA(1, seed=0))
    for x in dictionaries(X):
        union.learn_one(x)
    assert set(union.transform_one(x)) == {"onlinesfa0", "localsfa0"}


def test_features_use_new_weights_when_the_stream_has_grown_by_a_64th():
    _, X = slow_mixture(650)
    model = learned(river.OnlineSFA, X[:640])
    x, *others = dictionaries(X[639:])
    before = model.transform_one(x)
    for other in others[:9]:
        model.learn_one(other)
        assert model.transform_one(x) == before
    model.learn_one(others[9])
    assert model.transform_one(x) != before


def test_a_feature_keeps_its_sign():
    """Two weights of nearly the same size and opposite sign: which one is larger changes all the time."""
    rng = np.random.default_rng(0)
    slow = slow_mixture(4000, times=(30.0,), n_noise=0)[0]
    X = slow * [1.0, -1.0] + 0.3 * rng.standard_normal((4000, 2))
    model, net = river.OnlineSFA(1, seed=0, forget=1000), biosfa.OnlineSFA(1, random_state=0, forget=1000)
    ours, theirs = [], []
    for number, row in enumerate(X):
        model.learn_one({"a": row[0], "b": row[1]})
        net.learn_one(row)
        if number > 1000:
            ours.append(model.transform_one({"a": 9.0, "b": -9.0})["onlinesfa0"])
            theirs.append(net.transform_one([9.0, -9.0])[0])
    assert set(np.sign(theirs)) == {-1.0, 1.0}
    assert len(set(np.sign(ours))) == 1


def test_an_episode_ends():
    _, X = slow_mixture(1000)
    model = learned(river.OnlineSFA, X[:500])
    model.end_episode()
    model.learn_many(pd.DataFrame(X[500:], columns=KEYS))
    assert model.estimator.n_updates_ == 998


def test_missing_and_new_keys_are_named():
    x = dict.fromkeys(KEYS, 1.0)
    model = river.OnlineSFA(seed=0)
    model.learn_one(x)
    without = {key: x[key] for key in KEYS[:-1]}
    message = r"missing keys: sensor 9\. Every sample must have the keys of the first one: sensor 0, .* and 2 more"
    for method in (model.learn_one, model.transform_one):
        with pytest.raises(ValueError, match=message):
            method(without)
        with pytest.raises(ValueError, match=r"new keys: humidity\. Every"):
            method({**x, "humidity": 1.0})
        with pytest.raises(ValueError, match=r"missing keys: sensor 9; new keys: humidity\. Every"):
            method({**without, "humidity": 1.0})
    for method in (model.learn_many, model.transform_many):
        with pytest.raises(ValueError, match=r"missing keys: sensor 9; new keys: humidity\. Every"):
            method(pd.DataFrame([{**without, "humidity": 1.0}]))
    assert model.estimator.n_samples_seen_ == 1


def test_values_that_are_no_numbers_are_refused():
    model = river.OnlineSFA(seed=0)
    with pytest.raises(ValueError, match=r"every value of a sample must be a number; got .*'open'"):
        model.learn_one({"level": 1.0, "valve": "open"})
    model.learn_one({"level": 1.0, "pressure": 2.0})  # the keys of a sample that was refused do not count


def test_missing_values_are_gaps_if_asked_for():
    model = river.OnlineSFA(1, seed=0, missing="break")
    for level in (1.0, 2.0, None, 3.0, 5.0):
        model.learn_one({"level": level})
    assert (model.estimator.n_skipped_, model.estimator.n_updates_) == (1, 2)
    assert np.isnan(model.transform_one({"level": None})["onlinesfa0"])


def test_missing_values_are_an_error_unless_asked_for():
    model = river.OnlineSFA(1, seed=0)
    model.learn_one({"level": 1.0, "flow": 2.0})
    for method in (model.learn_one, model.transform_one):
        for level in (None, np.nan, np.inf):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                method({"level": level, "flow": 1.0})


def test_principal_components_need_several_rows():
    _, X = slow_mixture(1000)
    model = river.OnlineSFA(1, seed=0, pca=3)
    for x in dictionaries(X[:2]):
        with pytest.raises(ValueError, match="pca is computed from the first rows: call learn_many first"):
            model.learn_one(x)
    model.learn_many(pd.DataFrame(X[:-1], columns=KEYS))
    model.learn_one(dictionaries(X)[-1])
    assert model.estimator.n_samples_seen_ == len(X)


def test_columns_are_told_apart_by_their_names():
    model = river.OnlineSFA(1, seed=0)
    twice = pd.DataFrame(slow_mixture(100)[1][:, :3], columns=["level", "flow", "level"])
    with pytest.raises(ValueError, match=r"(?s)unique column names.*'level'"):
        model.learn_many(twice)
    model.learn_one({1: 1.0, "1": 2.0})
    model.learn_many(pd.DataFrame([[2.5, 1.5], [2.0, 1.0]], columns=["1", 1]))
    assert model.estimator.n_samples_seen_ == 3
    with pytest.raises(ValueError, match="unique column names"):
        model.transform_many(pd.DataFrame([[2.5, 1.5, 1.0]], columns=["1", 1, 1]))


def test_delays_are_refused():
    with pytest.raises(ValueError, match="n_delays must be 1; got 3"):
        river.OnlineSFA(n_delays=3)


def test_clones_and_copies_continue():
    _, X = slow_mixture(1000)
    model = learned(river.LocalSFA, X[:500], forget=200)
    assert model.clone({"forget": 300}).estimator.forget == 300
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.learn_many(pd.DataFrame(X[500:], columns=KEYS))
    np.testing.assert_array_equal(model.estimator.components_, copy.estimator.components_)


def test_whole_numbers_that_lose_digits_are_refused():
    rows = [{"a": 2**60 + i % 7, "b": 0.5 * i} for i in range(10)]
    with pytest.raises(ValueError, match=r"the value of 'a': .* would lose digits"):
        river.OnlineSFA(1).learn_one(rows[0])
    with pytest.raises(ValueError, match=r"row 0, column 'a': .* would lose digits"):
        river.OnlineSFA(1).learn_many(pd.DataFrame(rows))
