"""Weights that are recorded on the way."""

import numpy as np
import pytest

from biosfa import BioSFA, Recorder, metrics
from tests.conftest import deviation, slow_mixture


def test_recorder_keeps_what_learning_would_have_had():
    X = slow_mixture(400, seed=8)[1]
    recorder = Recorder(per_decade=3)
    net = BioSFA(2, random_state=0)
    for part in np.array_split(X, 5):
        net.partial_fit(part, recorder=recorder)
    assert list(recorder.steps) == [1, 2, 5, 10, 22, 46, 100, 215]
    plain = BioSFA(2, random_state=0).fit(X)
    assert deviation(net.W_, plain.W_) < 1e-12
    for step, W, M in zip(recorder.steps, recorder.W, recorder.M, strict=True):
        there = BioSFA(2, random_state=0).partial_fit(X[: step + 1])
        assert deviation(W, there.W_) < 1e-10
        assert deviation(M, there.M_) < 1e-10
    assert metrics.slowness_error(recorder.W, X).shape == (8,)


def test_recorders_are_checked():
    X = slow_mixture(100, seed=24)[1]
    for wrong in ({"steps": [5, 3]}, {"steps": [0, 3]}, {"per_decade": 0}):
        with pytest.raises(ValueError, match=r"steps must be|per_decade must be"):
            Recorder(**wrong)
    recorder = Recorder()
    BioSFA(2, random_state=0).fit(X, recorder=recorder)
    with pytest.raises(ValueError, match="another network"):
        BioSFA(2, random_state=0).fit(X, recorder=recorder)
