"""The circuits that the paper proposes: inhibition by interneurons, and outputs that cannot be negative."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import qr
from scipy.optimize import minimize

import biosfa
from biosfa import SFA, BioSFA, InverseTime, metrics
from biosfa.datasets import head_direction
from biosfa.kernels import reference
from biosfa.kernels.local import LEAST_INHIBITION, respond_to_all, settle, settle_interneurons
from biosfa.objectives import similarity_objective
from tests.conftest import slow_mixture


def random_circuit(k, seed):
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((k, k)) + 2 * np.eye(k)
    return L, rng.standard_normal((20, k))


@pytest.mark.parametrize("seed", range(3))
def test_interneurons_rest_where_direct_inhibition_does(seed, mixture):
    """On average nothing changes at W = OΛVᵀ, LLᵀ = OΛOᵀ, Λ = 4 − δ, for any rotations: the paper's fixed points."""
    exact = SFA(3).fit(mixture[1])
    rng = np.random.default_rng(seed)
    rotation, other = (qr(rng.standard_normal((3, 3)))[0] for _ in range(2))
    strength = 4 - exact.delta_values_
    W = rotation @ np.diag(strength) @ exact.components_
    L = rotation @ np.diag(np.sqrt(strength)) @ other
    X = mixture[1] - exact.mean_
    A = X @ W.T
    Y = np.linalg.solve(L @ L.T, A.T).T
    Y_bar, X_bar = Y[1:] + Y[:-1], X[1:] + X[:-1]
    dW = (Y_bar.T @ X_bar - A[1:].T @ X[1:]) / len(X_bar)
    dL = Y.T @ (Y @ L) / len(Y) - L
    assert np.abs(dW).max() < 1e-3  # sums over all samples and over pairs differ by the ends of the stream
    assert np.abs(dL).max() < 1e-9


def averaged_flow(rule, delta_values, tau):
    """The Jacobian, at the slowest fixed point, of what W and M do on average on white input; it has k rotations."""
    k = len(delta_values)
    strength = np.diag(4 - np.asarray(delta_values))

    def flow(flat):
        W, M = flat[: k * k].reshape(k, k), flat[k * k :].reshape(k, k)
        V = np.linalg.solve(M, W)
        W_change = 2 * (V @ strength - W)
        if rule == "interneuron":  # ΔL = (⟨yyᵀ⟩ − I)L/2τ, and M = LLᵀ
            rest = V @ V.T - np.eye(k)
            return np.concatenate([W_change.ravel(), ((rest @ M + M @ rest) / (2 * tau)).ravel()])
        return np.concatenate([W_change.ravel(), ((V @ strength @ V.T - M) / tau).ravel()])

    rest = np.concatenate([strength.ravel(), strength.ravel()])
    np.testing.assert_allclose(flow(rest), 0, atol=1e-12)
    return np.stack([(flow(rest + h) - flow(rest - h)) / 2e-6 for h in 1e-6 * np.eye(2 * k * k)], axis=1)


@pytest.mark.parametrize(("rule", "offset"), [("bio-sfa", 0.5), ("interneuron", 0.25)])
@pytest.mark.parametrize("delta_values", [(0.01, 0.6), (0.1, 0.5, 1.0), (0.02, 2.0)])
def test_the_slowest_features_are_stable_up_to_the_tau_of_the_docs(rule, offset, delta_values):
    first, last = 4 - np.min(delta_values), 4 - np.max(delta_values)
    limit = offset + first * last / (first - last) ** 2
    for tau, stable in ((0.98 * limit, True), (1.02 * limit, False)):
        growth = np.linalg.eigvals(averaged_flow(rule, delta_values, tau)).real.max()
        assert growth < 1e-6 if stable else growth > 1e-5  # rotations neither grow nor shrink


@pytest.mark.parametrize(
    "settings", [{}, {"learning_rate": InverseTime(200.0, 0.01), "tau": 8.0}], ids=["auto", "given"]
)
def test_interneurons_find_the_slow_subspace_and_white_outputs(settings, mixture):
    X = mixture[1]
    net = BioSFA(3, rule="interneuron", random_state=0, **settings).fit(X)
    exact = SFA(3).fit(X)
    direct = BioSFA(3, random_state=0, **settings).fit(X)
    assert np.degrees(metrics.subspace_angle(net.components_, exact.components_, X)) < 1.0
    # what is left is the noise of M, which averages over a finite stretch of a slow stream
    left, left_directly = (metrics.constraint_error(np.linalg.solve(n.M_, n.W_), X) for n in (net, direct))
    assert left < max(0.05, 1.5 * left_directly)
    np.testing.assert_allclose(net.L_ @ net.L_.T, net.M_)


@given(st.integers(1, 6), st.integers(0, 1000))
def test_dynamics_with_interneurons_settle_at_the_solution(k, seed):
    L, currents = random_circuit(k, seed)
    assume(np.linalg.norm(np.linalg.inv(L)) < 3)  # else it takes for ever
    for a in currents[:3]:
        y = np.zeros(k)
        settle_interneurons(L, a, y)
        np.testing.assert_allclose(y, np.linalg.solve(L @ L.T, a), atol=1e-6)


@given(st.integers(1, 7), st.integers(0, 10_000))
def test_outputs_that_cannot_be_negative_are_at_the_minimum(k, seed):
    L, currents = random_circuit(k, seed)
    M = L @ L.T + 0.1 * np.eye(k)
    Y = respond_to_all(currents, M)
    gradient = Y @ M - currents
    scale = np.abs(currents).max()
    assert (Y >= 0).all()
    assert gradient.min() > -1e-8 * scale
    assert np.abs(gradient * Y).max() < 1e-8 * scale * max(1.0, Y.max())
    for a, y in zip(currents, Y, strict=True):
        np.testing.assert_allclose(y, reference.nonnegative_equilibrium(M, a), atol=1e-8 * max(1.0, Y.max()))


def test_projected_dynamics_end_at_the_same_minimum():
    L, currents = random_circuit(5, 1)
    M = L @ L.T + 0.1 * np.eye(5)
    expected = respond_to_all(currents, M)
    for a, y in zip(currents, expected, strict=True):
        settled = np.zeros(5)
        settle(M, a, settled, nonnegative=True)
        np.testing.assert_allclose(settled, y, atol=1e-9)


def tuning(Y, angle, n_bins=36):
    """Mean output for each direction, and how much of an output's variance these explain."""
    place = (angle % (2 * np.pi) / (2 * np.pi) * n_bins).astype(int)
    curves = np.stack([Y[place == b].mean(axis=0) for b in range(n_bins)], axis=1)
    rest = ((Y - curves[:, place].T) ** 2).sum(axis=0)
    return curves, 1 - rest / ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)


def concentration(curves):
    """Length of the mean direction: 1 for an output that answers to one direction only, 0 for none in particular."""
    angles = 2 * np.pi * np.arange(curves.shape[1]) / curves.shape[1]
    return np.abs(curves @ np.exp(1j * angles)) / np.abs(curves).sum(axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_nonnegative_outputs_tile_the_directions_that_slow_features_only_span(seed):
    """Harmonics of a direction become head-direction cells, where linear outputs answer to directions all around."""
    stream = head_direction(500_000, random_state=seed)
    shown, angle = stream.signal[::20], stream.angle[::20]
    found = {}
    for rule in ("bio-sfa", "nonnegative"):
        net = BioSFA(12, rule=rule, random_state=seed).fit(stream.signal)
        curves, explained = tuning(net.neural_output(shown), angle)
        found[rule] = curves, explained
    curves, explained = found["nonnegative"]
    assert np.median(explained) > 0.9
    assert concentration(curves).min() > 0.7
    preferred = np.sort(np.argmax(curves, axis=1) * 10)
    gaps = np.diff(np.append(preferred, preferred[0] + 360))
    assert gaps.max() <= 70  # evenly it would be 30
    linear = found["bio-sfa"][0]
    assert np.median(concentration(linear)) < concentration(curves).min()
    assert (linear.min(axis=1) < -0.3 * linear.max(axis=1)).all()


def test_nonnegative_outputs_nearly_minimise_the_objective():
    """Eq. (9) over Y ≥ 0, against a direct minimisation and against linear outputs that are cut off at zero."""
    k, n_pairs = 8, 300
    X = head_direction(1_500_000, random_state=1).signal
    pairs = np.random.default_rng(0).choice(len(X) - 1, n_pairs, replace=False)
    centred = X - X.mean(axis=0)
    C_xx = centred.T @ centred / len(X)
    X_bar = (centred[pairs] + centred[pairs + 1]).T

    def sums(rule):
        net = BioSFA(k, rule=rule, random_state=1).fit(X)
        return sum(np.maximum(net.neural_output(X[rows]), 0) for rows in (pairs, pairs + 1)).T

    similarities = X_bar.T @ np.linalg.solve(C_xx, X_bar)

    def mismatch(flat):
        Y_bar = flat.reshape(k, n_pairs)
        rest = Y_bar.T @ Y_bar - similarities
        return np.square(rest).sum() / (2 * n_pairs**2), (2 * Y_bar @ rest / n_pairs**2).ravel()

    learned = sums("nonnegative")
    begin = np.abs(np.random.default_rng(0).standard_normal(learned.size))
    direct = minimize(mismatch, begin, jac=True, bounds=[(0, None)] * learned.size, method="L-BFGS-B").fun
    cut_off = sums("bio-sfa")
    best_cut_off = min(similarity_objective(scale * cut_off, X_bar, C_xx) for scale in np.linspace(0, 2, 41))
    found = similarity_objective(learned, X_bar, C_xx)
    assert found == pytest.approx(mismatch(learned.ravel())[0])
    assert found < 1.2 * direct  # which has the freedom to fit these few pairs
    assert found < 0.75 * best_cut_off


def test_a_circuit_is_not_exchanged_on_the_way(tmp_path):
    X = slow_mixture(300, seed=3)[1]
    net = BioSFA(2, rule="nonnegative", random_state=0).partial_fit(X)
    net.save(tmp_path / "model")
    with pytest.raises(ValueError, match="rule cannot change to 'bio-sfa'"):
        biosfa.load(tmp_path / "model", rule="bio-sfa")
    net.set_params(rule="interneuron")
    for attempt in (lambda: net.partial_fit(X), lambda: net.save(tmp_path / "other")):
        with pytest.raises(ValueError, match="rule cannot change to 'interneuron'"):
            attempt()
    assert BioSFA(2, random_state=0).partial_fit(X).set_params(rule="reversible").partial_fit(X).n_updates_ == 599


def test_only_the_circuit_with_interneurons_has_their_weights():
    with pytest.raises(AttributeError, match="has L_"):
        _ = BioSFA(2).fit(np.random.default_rng(0).standard_normal((50, 4))).L_


def test_there_may_be_more_nonnegative_outputs_than_columns(tmp_path):
    stream = head_direction(300_000, n_harmonics=3, n_noise=0, random_state=0)
    net = BioSFA(10, rule="nonnegative", random_state=0).fit(stream.signal)
    net.save(tmp_path / "model")
    Y = biosfa.load(tmp_path / "model").neural_output(stream.signal[::30])
    assert Y.shape == (10_000, 10)
    curves, _ = tuning(Y[:, Y.any(axis=0)], stream.angle[::30])  # some outputs may stay silent
    active = curves.max(axis=1) > 0.5
    assert active.sum() > 6  # there are six harmonics
    assert (concentration(curves[active]) > 0.7).all()
    with pytest.raises(ValueError, match="exceeds the number"):
        BioSFA(10, random_state=0).fit(stream.signal)


@pytest.mark.parametrize("k", [1, 3])
def test_a_nonnegative_output_that_was_silent_for_long_does_not_explode(k):
    """Its M_ii has a least value; without, it would fall to nothing, and the next sample be divided by that."""
    X = slow_mixture(60_000, seed=9)[1]
    X[20_000:40_000] = 0.0
    net = BioSFA(k, rule="nonnegative", random_state=0).fit(X)
    assert np.diag(net.M_).min() >= LEAST_INHIBITION
    late = np.random.default_rng(0).standard_normal((2000, 4))
    late[:500, 1:] = 0.0
    for seed in range(5):
        BioSFA(2, rule="nonnegative", random_state=seed).fit(late)


def test_missing_samples_have_no_nonnegative_output():
    X = slow_mixture(400, seed=4)[1]
    X[7, 2] = np.nan
    net = BioSFA(2, rule="nonnegative", missing="break", random_state=0).fit(X)
    Y = net.neural_output(X)
    assert np.isnan(Y[7]).all()
    assert (np.delete(Y, 7, axis=0) >= 0).all()
    assert net.watch().warning is None
