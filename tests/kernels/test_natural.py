"""The natural-gradient kernel against its literal form."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import reference
from biosfa.kernels.local import Mode, Rule
from biosfa.kernels.natural import network as natural
from biosfa.kernels.running import CURRENT, DIFFERENCE


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 520])), draw(st.integers(1, 3))
    k = min(draw(st.integers(1, 4)), m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Z = rng.standard_normal((n, P, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((n, P, m))
    starts = rng.random(n) < draw(st.sampled_from([0.0, 0.1]))
    starts[0] = True
    options = {"reversible": draw(st.booleans()), "normalized": draw(st.booleans())}
    window = draw(st.sampled_from([np.inf, 100.0]))
    automatic = draw(st.booleans())
    eta = np.full(n * P, 1e-4)
    state = natural.initial_state(k, m, P, float, np.random.RandomState(0))
    expected = reference.learn_natural(
        Z, state.W, k, eta=None if automatic else eta, starts=starts, window=window, **options
    )
    cuts = [0, *sorted(P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))), n * P]
    rule = int(Rule.REVERSIBLE if options["reversible"] else Rule.BIO_SFA)
    mode = Mode(center=True, relative=automatic, normalized=options["normalized"], rule=rule, window=window)
    for begin, end in pairwise(cuts):
        part = slice(begin, end)
        natural.learn(Z.reshape(-1, m)[part], np.repeat(starts, P)[part], eta[part], begin, k, mode, state)
    ours = {
        "W": state.W + state.change,
        "W_mean": state.W_mean,
        "M": state.M,
        "S": state.S / max(state.weights[CURRENT], 1e-300),
        "D": state.D / max(state.weights[DIFFERENCE], 1e-300),
    }
    for name, array in ours.items():
        theirs = getattr(expected, name)
        assert np.abs(array - theirs).max() <= 1e-8 * max(np.abs(theirs).max(), 1e-300), name
