"""The outputs of the local and fast network against their literal form."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import fast_local, reference
from tests.conftest import deviation


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 60])), draw(st.integers(1, 3))
    k = min(draw(st.integers(1, 4)), m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = rng.standard_normal((n, P, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((n, P, m))
    U = ((U - U.mean(axis=(0, 1))) / (U.std(axis=(0, 1)) + 1e-6)).reshape(n * P, m)
    starts = np.repeat(rng.random(n) < draw(st.sampled_from([0.0, 0.1])), P)
    starts[:P] = True
    window = draw(st.sampled_from([np.inf, 100.0]))
    cuts = [P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))]
    settled = reference.settle_laterally(U, window=window)
    state = fast_local.initial_state(k, m, P, float, np.random.RandomState(0))
    expected = reference.learn_fast_local(settled, state.W[:, :m], k, starts=starts, n_streams=P, window=window)
    for begin, end in pairwise([0, *sorted(cuts), len(U)]):
        rows = slice(begin, end)
        fast_local.learn(settled.U[rows], settled.X[rows], starts[rows], float(begin), window, k, state)
    for name in ("W", "W_slow"):
        assert deviation(getattr(state, name)[:, :m], getattr(expected, name)) <= 1e-9, name
    if not starts[-1]:  # the first sample of an episode makes no update
        np.testing.assert_allclose(fast_local.rates(state, m, len(U), window), expected.eta, rtol=1e-9)
