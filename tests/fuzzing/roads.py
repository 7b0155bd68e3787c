"""The same rows by every road: chunks, streams, files, collections of Dask, labels, saved models, ONNX, river.

A case is a random configuration. Whatever the array in memory gives, or refuses, every other road must give or refuse.
"""

from functools import partial

import dask
import numpy as np

from tests.fuzzing import roads_of_exact, roads_of_monitors, roads_of_online

SHARES = {roads_of_exact.compare: 6, roads_of_online.compare: 3, roads_of_monitors.compare: 1}


class Roads:
    """Random configurations of learners and monitors."""

    def __init__(self, folder):
        dask.config.set(scheduler="synchronous")
        for seed, compare in enumerate(SHARES):  # which compiles the kernels
            compare(np.random.default_rng(seed), folder)

    def case(self, rng, folder):
        """A configuration, and what compares its roads."""
        compare = rng.choices(list(SHARES), list(SHARES.values()))[0]
        return partial(compare, np.random.default_rng(rng.getrandbits(64)), folder)
