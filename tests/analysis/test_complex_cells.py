"""Windows that move over images, and what quadratic features respond to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from biosfa import SFA, QuadraticExpansion
from biosfa.analysis import (
    QuadraticForm,
    analyse_unit,
    fit_gabor,
    grating_harmonics,
    invariances,
    optimal_stimulus,
    quadratic_form,
    summarise_units,
)
from biosfa.analysis._gratings import half_width
from biosfa.datasets import image_sequences, pink_noise


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), radius=st.floats(0.1, 10), hard=st.booleans())
@settings(max_examples=60)
def test_no_other_point_of_the_sphere_excites_more(seed, n, radius, hard):
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, n))
    H = H + H.T
    f = rng.standard_normal(n)
    if hard:  # nothing along the leading eigenvector
        top = np.linalg.eigh(H)[1][:, -1]
        f = 0.1 * (f - top * (top @ f))
    form = QuadraticForm(H, f, 0.5)
    found = optimal_stimulus(form, radius)
    assert np.linalg.norm(found.x) == pytest.approx(radius, rel=1e-6)
    np.testing.assert_allclose(H @ found.x + f, found.multiplier * found.x, atol=1e-5 * (1 + radius) * n)

    def least(start):
        return minimize(lambda v: -form(radius * v / np.linalg.norm(v)), start, method="BFGS").fun

    others = min(least(rng.standard_normal(n)) for _ in range(3))
    assert found.value >= -others - 1e-6 * (1 + abs(others))


def test_invariances_are_flat_directions_of_the_sphere():
    rng = np.random.default_rng(0)
    H = rng.standard_normal((6, 6))
    form = QuadraticForm(H + H.T, rng.standard_normal(6), 0.0)
    best = optimal_stimulus(form, 2.0)
    directions, curvature = invariances(form, best)
    np.testing.assert_allclose(directions @ best.x, 0, atol=1e-10)
    np.testing.assert_allclose(directions @ directions.T, np.eye(5), atol=1e-10)
    angle = 1e-3 / 2.0  # along a great circle, by a length of 1e-3
    for direction, expected in zip(directions, curvature, strict=True):
        moved = [np.cos(a) * best.x + 2.0 * np.sin(a) * direction for a in (-angle, 0.0, angle)]
        low, middle, high = (float(form(x)) for x in moved)
        assert (low - 2 * middle + high) / 1e-6 == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_components_of_an_expansion_are_quadratic_forms():
    X = np.random.default_rng(0).standard_normal((500, 4)).cumsum(axis=1)
    sfa = SFA(3, expansion=QuadraticExpansion()).fit(X)
    for i, component in enumerate(sfa.components_):
        form = quadratic_form(component, sfa.mean_, 4)
        np.testing.assert_allclose(form(X), sfa.transform(X)[:, i], atol=1e-9)


def test_harmonics_are_those_of_the_response_over_phase():
    rng = np.random.default_rng(1)
    H = rng.standard_normal((9, 9))
    form = QuadraticForm(H + H.T, rng.standard_normal(9), 2.0)
    c, s = rng.standard_normal((2, 9))
    phase = np.linspace(0, 2 * np.pi, 64, endpoint=False)[:, None]
    response = form(1.7 * (np.cos(phase) * c + np.sin(phase) * s))
    spectrum = np.fft.rfft(response) / 64
    f0, f1, f2 = grating_harmonics(form, c, s, 1.7)
    assert f0 == pytest.approx(spectrum[0].real - 2.0)
    assert f1 == pytest.approx(2 * abs(spectrum[1]))
    assert f2 == pytest.approx(2 * abs(spectrum[2]))
    np.testing.assert_allclose(spectrum[3:], 0, atol=1e-12)


@given(orientation=st.floats(0, np.pi), frequency=st.floats(1.5, 5), phase=st.floats(0, 6), width=st.floats(0.12, 0.3))
@settings(max_examples=20)
def test_gabor_functions_are_found(orientation, frequency, phase, width):
    y, x = np.mgrid[-0.5:0.5:16j, -0.5:0.5:16j]
    along = x * np.cos(orientation) + y * np.sin(orientation)
    patch = np.exp(-(x**2 + y**2) / (2 * width**2)) * np.cos(2 * np.pi * frequency * along + phase)
    fit = fit_gabor(patch)
    assert fit.r_squared > 0.99
    overlap = (fit.patch - fit.patch.mean()).ravel() @ fit.shifted.ravel()
    assert abs(overlap) < 0.3 * np.linalg.norm(fit.patch) * np.linalg.norm(fit.shifted)


def test_half_width_of_known_curves():
    angle = np.linspace(0, np.pi, 720, endpoint=False)
    assert np.degrees(half_width(np.cos(angle) ** 2)) == pytest.approx(45, abs=0.01)
    assert np.degrees(half_width(np.cos(2 * angle))) == pytest.approx(30, abs=0.01)
    assert np.degrees(half_width(np.ones(10))) == pytest.approx(90)
    assert np.degrees(half_width(-np.ones(10))) == pytest.approx(90)


def test_wrong_shapes_are_said():
    form = QuadraticForm(np.eye(4), np.zeros(4), 0.0)
    with pytest.raises(ValueError, match="6 rows, not a square number"):
        analyse_unit(form, np.eye(6)[:, :4], 1.0)
    with pytest.raises(ValueError, match="orthonormal"):
        analyse_unit(form, np.ones((9, 4)), 1.0)
    with pytest.raises(ValueError, match="10 weights, but the quadratic expansion of 4 columns has 14 monomials"):
        quadratic_form(np.zeros(10), np.zeros(10), 4)
    with pytest.raises(ValueError, match="a list of images"):
        image_sequences(1, images=np.zeros((200, 200)))


def test_noise_is_no_gabor_function():
    rng = np.random.default_rng(2)
    assert np.median([fit_gabor(rng.standard_normal((16, 16))).r_squared for _ in range(5)]) < 0.4


def test_slow_features_of_moving_images_are_complex_cells():
    """Published for 20,000 frames of noise and 32 components: Gabor R² of 0.90; random forms have about 0.3."""
    sequences = image_sequences(200, images=pink_noise(4))
    frames = sequences.frames().astype(np.float64)
    centred = frames - frames.mean(axis=0)
    variance, U = np.linalg.eigh(centred.T @ centred / len(centred))
    variance, U = variance[::-1][:32], U[:, ::-1][:, :32]
    sfa = SFA(20, expansion="quadratic").fit(centred @ (U / np.sqrt(variance)), lengths=sequences.lengths(frames))
    unwhiten, norm = np.diag(1 / np.sqrt(variance)), float(np.linalg.norm(centred, axis=1).mean())
    rng = np.random.default_rng(0)
    found = {}
    for name, components in (("sfa", sfa.components_), ("random", rng.standard_normal(sfa.components_.shape))):
        forms = [quadratic_form(component, sfa.mean_, 32).of(unwhiten) for component in components]
        found[name] = summarise_units([analyse_unit(form, U, norm) for form in forms])
    assert found["sfa"]["gabor_r2_median"] > 0.8
    assert found["sfa"]["f2_f0_median"] < 0.1
    assert found["sfa"]["invariance_cosine_median"] > 0.8
    assert found["random"]["gabor_r2_median"] < 0.5
    assert found["random"]["f2_f0_median"] > 0.3
