"""The state of a network while it learns: arrays that the kernels change in place, and the mode in which they run."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.padding import padded
from biosfa.typing import Float64Array, FloatArray


class Mode(NamedTuple):
    """How the algorithm runs."""

    center: bool  # subtract the running mean
    relative: bool  # divide the input by its running root mean square, so that rates need no units; wait for input
    normalized: bool  # shorten the step to η/(1 + 2η‖x‖²)
    rule: int  # see :class:`biosfa.kernels.local.rules.Rule`
    euler: bool = False  # run the fast dynamics instead of y = M⁻¹a
    window: float = math.inf  # samples that the mean and other averages count


class State(NamedTuple):
    """The network. Names are the paper's; m is padded to ``width``, P is the number of parallel streams.

    Padding stays zero, because every update of W is proportional to x.

    Weights and activities have the precision of W. What adds up small changes, M, the mean and the moments, is float64.
    """

    mean: Float64Array  # (width,) running mean of the input
    W: FloatArray  # (k, width) feedforward weights, of the rescaled input in relative mode
    M: Float64Array  # (k, k) lateral weights; not used with interneurons
    L: Float64Array  # (k, k) weights between outputs and interneurons; (0, 0) without
    M_inv: FloatArray  # (k, k) M⁻¹; not kept up where y ≥ 0
    x_prev: FloatArray  # (P, width) last input of each stream, centred
    y_prev: FloatArray  # (P, k) last output of each stream
    current_power: Float64Array  # (2,) running mean of ‖a‖² before it is divided by its total weight, and that weight
    mean_power: Float64Array  # (1,) running mean of ‖x‖², before it is rescaled in relative mode
    peak_power: Float64Array  # (1,) largest ‖x‖² so far: the explicit step is unstable once 2η‖x‖² > 2
    staleness: Float64Array  # (1,) how far M⁻¹ has drifted since it was last computed from M; 1 = due


def initial_state(
    k: int, m: int, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState, *, interneurons: bool = False
) -> State:
    """W ~ N(0, 1/m), M = L = I, everything else at rest."""
    width = padded(m)
    W = np.zeros((k, width), dtype)
    W[:, :m] = rng.standard_normal((k, m)) / np.sqrt(m)
    return State(
        mean=np.zeros(width),
        W=W,
        M=np.eye(k),
        L=np.eye(k if interneurons else 0),
        M_inv=np.eye(k, dtype=dtype),
        x_prev=np.zeros((n_streams, width), dtype),
        y_prev=np.zeros((n_streams, k), dtype),
        current_power=np.zeros(2),
        mean_power=np.zeros(1),
        peak_power=np.zeros(1),
        staleness=np.zeros(1),
    )
