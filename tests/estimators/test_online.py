"""What all online learners promise, however they learn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from biosfa import BioSFA, GiveAwayWarning, LocalSFA, OnlineSFA
from tests.conftest import deviation, slow_mixture


@given(
    cuts=st.lists(st.integers(0, 200), max_size=6),
    ends=st.lists(st.integers(1, 199), max_size=3),
    learner=st.sampled_from(
        [
            BioSFA(1),
            BioSFA(3, rule="reversible"),
            BioSFA(3, rule="interneuron"),
            BioSFA(16, rule="interneuron", expansion="quadratic", n_delays=5),
            BioSFA(3, rule="nonnegative"),
            BioSFA(16, rule="nonnegative", expansion="quadratic", n_delays=5),
            BioSFA(2, n_delays=3),
            # 2e-4 is the largest stable rate; above it, some cuts into episodes diverge, whatever the chunks
            BioSFA(2, n_delays=2, expansion="quadratic", learning_rate=1e-4),
            BioSFA(2, learning_rate=lambda t: 0.01 / t, center=False, step="normalized"),
            BioSFA(16, expansion="quadratic", n_delays=5),
            BioSFA(2, forget=60),
            BioSFA(2, input_layer="lateral", n_delays=2, forget=60),
            BioSFA(2, input_layer=3, rule="reversible"),
            OnlineSFA(2),
            OnlineSFA(2, whitening_rank=3, forget=90),
            OnlineSFA(1, learning_rate=0.01, reversible=True, n_delays=2),
            LocalSFA(1),
            LocalSFA(2, n_delays=2, forget=60),
            LocalSFA(2, input_layer=3, n_delays=2, forget=60),
            LocalSFA(16, expansion="quadratic", n_delays=5),
        ]
    ),
)
@settings(max_examples=150)
def test_chunks_change_nothing_but_rounding(cuts, ends, learner):
    X = slow_mixture(200, times=(30.0, 5.0), n_noise=3, seed=1)[1] + 3.0
    ends = sorted({*ends, 200})
    lengths = np.diff([0, *ends])
    whole, chunked, rounded = (clone(learner).set_params(random_state=0) for _ in range(3))
    whole.partial_fit(X, lengths=lengths)
    begin = 0
    for cut in sorted({*cuts, *ends}):
        if cut > begin:
            chunked.partial_fit(X[begin:cut])
            begin = cut
        if cut in ends:
            chunked.end_episode()
    assert chunked.n_updates_ == whole.n_updates_
    # first episodes of a few rows are so degenerate that the network amplifies rounding errors of its input
    rounded.partial_fit(X * (1 + 1e-15 * np.random.default_rng(0).standard_normal(X.shape)), lengths=lengths)
    for name in ("W_", "M_", "mean_"):
        if name != "M_" or isinstance(whole, BioSFA):  # the others have none
            expected = getattr(whole, name)
            allowed = max(1e-9, 10 * deviation(getattr(rounded, name), expected))
            assert deviation(getattr(chunked, name), expected) < allowed
    np.testing.assert_allclose(chunked.transform(X), whole.transform(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "learner",
    [
        BioSFA(),
        BioSFA(n_delays=2),
        BioSFA(expansion="quadratic"),
        BioSFA(dtype=np.float32),
        BioSFA(forget=50),
        BioSFA(rule="interneuron"),
        BioSFA(rule="nonnegative"),
        OnlineSFA(),
        LocalSFA(),
        LocalSFA(dtype=np.float32, dynamics="relax"),
        LocalSFA(input_layer=3),
        BioSFA(input_layer="lateral"),
        BioSFA(input_layer=3, rule="interneuron"),
    ],
    ids=str,
)
def test_one_sample_at_a_time_is_the_same(learner):
    X = slow_mixture(200, seed=2)[1]
    whole, single = (clone(learner).set_params(random_state=0) for _ in range(2))
    whole.partial_fit(X)
    for x in X:
        single.learn_one(x)
    tolerance = 1e-9 if whole.W_.dtype == np.float64 else 1e-4
    assert deviation(single.W_, whole.W_) < tolerance
    assert single.n_samples_seen_ == whole.n_samples_seen_
    last = X[-whole.n_delays :] if whole.n_delays > 1 else X[-1]
    np.testing.assert_allclose(single.transform_one(last), whole.transform(X)[-1], atol=100 * tolerance)


@pytest.mark.parametrize("learner", [BioSFA(2), OnlineSFA(2), LocalSFA(2)], ids=str)
def test_features_are_zero_before_the_first_pair_of_samples(learner):
    x = np.array([1.0, 2.0, 3.0])
    for expansion in (None, "quadratic"):
        net = clone(learner).set_params(expansion=expansion).learn_one(x)
        np.testing.assert_array_equal(net.transform_one(x), [0.0, 0.0])


@pytest.mark.parametrize("learner", [BioSFA(2), OnlineSFA(2), LocalSFA(2)], ids=str)
def test_a_counter_and_what_is_constant_within_episodes_are_named(learner):
    X = slow_mixture(6000, seed=3)[1]
    n = len(X)
    frame = pd.DataFrame(X, columns=[f"ch{i}" for i in range(X.shape[1])])
    learner = clone(learner).set_params(random_state=0)
    learner.fit(frame.assign(year=np.sin(2 * np.pi * np.arange(n) / n)))  # one period of a sine comes back
    given_away = frame.assign(count=np.arange(n), run=np.repeat([0.0, 1.0], n // 2))
    with pytest.warns(GiveAwayWarning, match=r"as slowly as a counter or a clock.*: count, run\."):
        learner.fit(given_away, lengths=[n // 2, n // 2])


@pytest.mark.parametrize("scale", [1e-6, 1e6, np.geomspace(1e-6, 1e6, 10)], ids=["small", "large", "mixed"])
@pytest.mark.parametrize("expansion", [None, "quadratic"])
@pytest.mark.parametrize(
    "learner", [BioSFA(), BioSFA(input_layer="lateral"), OnlineSFA(), OnlineSFA(whitening_rank=4), LocalSFA()], ids=str
)
def test_auto_rates_do_not_depend_on_units(scale, expansion, learner):
    """Not even in a quadratic expansion, which has columns in units of x and of x²."""
    X = slow_mixture(5000, seed=4)[1]
    learner = clone(learner).set_params(random_state=0, expansion=expansion)
    plain, scaled = (clone(learner).fit(factor * X) for factor in (1.0, scale))
    ours, theirs = scaled.transform(scale * X), plain.transform(X)
    signs = np.sign((ours * theirs).sum(axis=0))  # which entry of a component is largest does depend on units
    np.testing.assert_allclose(signs * ours, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scaled.delta_values_, plain.delta_values_, rtol=1e-6)
