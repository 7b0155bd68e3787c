"""Interneurons in place of direct lateral synapses, for many columns.

Input neuron j has a leak D_j. There are r interneurons, with the same weights F from and to the input neurons. The fast
dynamics

    dx̃/ds = u − Dx̃ − Fz,    z = Fᵀx̃

rest at x̃ = (D + FFᵀ)⁻¹u, z = (I + FᵀD⁻¹F)⁻¹FᵀD⁻¹u. So D + FFᵀ takes the place of L, with mr weights in place of m². Its
rule is Hebbian, ΔF = ρ(uzᵀ − F). At rest F = ⟨uzᵀ⟩ = C(D + FFᵀ)⁻¹F, with the covariance C of u. The leak is the part
of a neuron's power that the interneurons do not explain, D_j = ⟨u_j²⟩ − Σ_a F_ja². Then D + FFᵀ is the factor model of
maximal likelihood for C.

Weights and leaks do not change with every sample. Each synapse keeps a trace of what the samples ask for, and changes
by it from time to time. Then the work on a block of samples is five products of matrices.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.input_layer.lateral import come_to_rest
from biosfa.kernels.input_layer.receptors import rate_of_lateral_weights, receive
from biosfa.typing import Float64Array, FloatArray

# Synapses change after so many samples; earlier, as soon as their traces weigh this much in comparison with the
# weights: traces that weigh more than 1 would be unstable.
CONSOLIDATION, HEAVY = 64, 0.125

# The r directions that interneurons learn compete, which takes longer than to learn as many independent ones.
COMPETITION = 4.0

# The leak is at least this share of the power of a neuron. Otherwise noise would grow without limit where interneurons
# explain all of the input.
LEAST_LEAK = 0.05
TINY = 1e-300  # in place of a power of 0, by which nothing can be divided


class InterneuronState(NamedTuple):
    """An input layer of m neurons and r interneurons. What adds up small changes is float64."""

    mean: Float64Array  # (m,) running mean of the unscaled input
    variance: Float64Array  # (m,) running ⟨u²⟩ of each neuron
    prior: Float64Array  # (1,) weight of the initial variance in the present one
    seen: Float64Array  # (1,) samples learned from
    F: Float64Array  # (m, r) weights between input neurons and interneurons
    leak: Float64Array  # (m,) the diagonal of D
    trace: Float64Array  # (m, r) Σρuzᵀ since the weights last changed
    traced: Float64Array  # (2,) number of samples since then, and Σρ
    response: FloatArray  # (r, m) activities of interneurons at rest, z = response · u
    inhibition: FloatArray  # (r, m) their effect on the settled activities, D⁻¹F
    excitation: FloatArray  # (m,) the effect of the input on them, D⁻¹


def initial_state(m: int, r: int, dtype: DTypeLike, rng: np.random.RandomState) -> InterneuronState:
    """Return an input layer with F ~ N(0, 1/m) and D = I; products are done in the precision ``dtype``."""
    state = InterneuronState(
        mean=np.zeros(m),
        variance=np.ones(m),
        prior=np.ones(1),
        seen=np.zeros(1),
        F=rng.standard_normal((m, r)) / np.sqrt(m),
        leak=np.ones(m),
        trace=np.zeros((m, r)),
        traced=np.zeros(2),
        response=np.zeros((r, m), dtype),
        inhibition=np.zeros((r, m), dtype),
        excitation=np.zeros(m, dtype),
    )
    refresh(state)
    return state


def learn(
    raw: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    scale: Float64Array,
    relaxes: bool,
    state: InterneuronState,
    U: FloatArray,
    X: FloatArray,
) -> bool:
    """Learn from samples; see :func:`biosfa.kernels.input_layer.lateral.learn`."""
    patience = COMPETITION * state.F.shape[1]
    begin, rested = 0, True
    while begin < len(raw):
        rho = _rates_until_consolidation(len(raw) - begin, window, patience, state)
        block = slice(begin, begin + len(rho))
        u = U[block]
        receive(raw[block], n_seen + begin, center, window, state.mean, scale, rho, state.variance, u)
        Z = u @ state.response.T
        if relaxes:
            L = state.F @ state.F.T + np.diag(state.leak)
            for t in range(len(rho)):
                x = np.empty(len(L))
                rested = come_to_rest(u[t].astype(np.float64), L, x) and rested
                X[begin + t] = x
        else:
            np.multiply(u, state.excitation, out=X[block])
            X[block] -= Z @ state.inhibition
        state.prior[0] *= np.prod(1.0 - rho)
        state.seen[0] += len(rho)
        state.trace[:] += u.T @ (rho.astype(Z.dtype)[:, None] * Z)
        state.traced[:] += len(rho), rho.sum()
        if _is_due(state.traced):
            consolidate(state)
        begin = block.stop
    return rested


def _rates_until_consolidation(n: int, window: float, patience: float, state: InterneuronState) -> Float64Array:
    """Return ρ of the samples up to the next change of the weights, n at most."""
    first = state.seen[0] + 1.0
    rho = np.array([rate_of_lateral_weights(first + t, window, patience) for t in range(min(n, CONSOLIDATION))])
    waited = np.stack([state.traced[0] + 1.0 + np.arange(len(rho)), state.traced[1] + np.cumsum(rho)], axis=1)
    due = [_is_due(each) for each in waited]
    return rho[: due.index(True) + 1] if True in due else rho


def _is_due(traced: Float64Array) -> bool:
    """Return whether weights change after this number of samples with this Σρ."""
    return bool(traced[0] >= CONSOLIDATION or traced[1] >= HEAVY)


def consolidate(state: InterneuronState) -> None:
    """Change weights and leaks by what the traces ask for."""
    state.F[:] = (1.0 - state.traced[1]) * state.F + state.trace
    state.trace[:] = 0.0
    state.traced[:] = 0.0
    refresh(state)


def refresh(state: InterneuronState) -> None:
    """Compute the leaks and the responses from the weights."""
    explained = np.square(state.F).sum(axis=1)
    state.leak[:] = np.maximum(state.variance - explained, LEAST_LEAK * state.variance) + TINY
    state.excitation[:] = 1.0 / state.leak
    decoder = state.F.T / state.leak
    state.inhibition[:] = decoder
    state.response[:] = np.linalg.solve(np.eye(len(decoder)) + decoder @ state.F, decoder)
