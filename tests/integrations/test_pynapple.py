"""Frames of pynapple."""

import numpy as np
import pytest

from biosfa import SFA, OnlineSFA
from tests.conftest import slow_mixture

nap = pytest.importorskip("pynapple")

N = 1000  # rows of each interval


@pytest.fixture(params=[None, ["a", "b", "c", "d"], [7, 5, 6, 4]], ids=["no names", "names", "numbers"])
def recording(request):
    """Two intervals, and a gap of 30 rows in the second."""
    times = np.concatenate([np.arange(N), np.arange(2 * N, 3 * N)]) / 100
    support = nap.IntervalSet(start=[0, 2 * N / 100], end=[N / 100, 3 * N / 100])
    samples = slow_mixture(2 * N)[1][:, :4]
    return nap.TsdFrame(t=times, d=samples, time_support=support, columns=request.param)[np.r_[0:1200, 1230 : 2 * N]]


@pytest.mark.parametrize("learner", [SFA(2), OnlineSFA(2, random_state=0)], ids=["SFA", "OnlineSFA"])
def test_the_time_support_gives_the_episodes(learner, recording):
    features = learner.fit_transform(recording)
    delta = learner.delta_values_
    plain = learner.fit(recording.values, lengths=[N, 200, 770])
    np.testing.assert_array_equal(delta, plain.delta_values_)
    assert isinstance(features, nap.TsdFrame)
    np.testing.assert_array_equal(features.values, plain.transform(recording.values))
    np.testing.assert_array_equal(features.t, recording.t)
    np.testing.assert_array_equal(features.time_support.values, recording.time_support.values)
    assert list(features.columns) == plain.get_feature_names_out().tolist()


def test_one_column_is_an_array_of_one_dimension(recording):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        SFA(1).fit(recording[:, 0])
