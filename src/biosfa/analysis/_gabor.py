"""Fits Gabor functions to image patches."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares

from biosfa.typing import Float64Array

# Limits of a fit, for a patch of unit side: widths of the envelope, and frequency in periods per side.
WIDTHS = (0.06, 1.0)
FREQUENCIES = (0.3, 8.0)
N_PEAKS = 3  # number of peaks of the spectrum from which fits start


@dataclass(frozen=True)
class GaborFit:
    """A Gabor function that was fitted to a patch: a grating under a Gaussian envelope. The side of the patch is 1.

    Attributes
    ----------
    r_squared : float
        Share of the variance of the patch that the function explains.
    orientation : float
        Direction of the grating's wave, in radians from 0 to π.
    frequency : float
        Frequency of the grating, in periods per side.
    center : (float, float)
        Centre of the envelope, x and y.
    widths : (float, float)
        Widths of the envelope along the wave and across it.
    patch : array of shape (side, side)
        The function, plus a constant.
    shifted : array of shape (side, side)
        The function with its phase shifted by 90°, without the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import fit_gabor
    >>> fit = fit_gabor(np.random.default_rng(0).standard_normal((8, 8)))
    >>> fit.patch.shape, fit.r_squared < 0.9  # noise is not a Gabor function
    ((8, 8), True)
    """

    r_squared: float
    orientation: float
    frequency: float
    center: tuple[float, float]
    widths: tuple[float, float]
    patch: Float64Array = field(repr=False)
    shifted: Float64Array = field(repr=False)


def fit_gabor(patch: Float64Array) -> GaborFit:
    """Fit a Gabor function plus a constant to an image patch.

    Centre, widths, orientation and frequency are found by a search that starts from the strongest peaks of the patch's
    spectrum. Amplitude, phase and constant are linear and are solved for.

    Parameters
    ----------
    patch : array of shape (side, side)
        An image.

    Returns
    -------
    GaborFit

    Raises
    ------
    ValueError
        If the patch is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import fit_gabor
    >>> y, x = np.mgrid[-0.5:0.5:16j, -0.5:0.5:16j]
    >>> patch = np.exp(-(x**2 + y**2) / 0.08) * np.cos(2 * np.pi * 3 * x)
    >>> fit = fit_gabor(patch)
    >>> round(fit.r_squared, 3), round(fit.frequency, 2)
    (1.0, 3.0)
    """
    side = len(patch)
    y, x = np.mgrid[-0.5 : 0.5 : side * 1j, -0.5 : 0.5 : side * 1j]
    target = patch.ravel() - patch.mean()
    power = float(target @ target)
    if power == 0.0:
        raise ValueError("the patch is constant: a Gabor function cannot be fitted to it")
    energy = (patch - patch.mean()) ** 2
    center = [float((energy * x).sum() / energy.sum()), float((energy * y).sum() / energy.sum())]

    def design(parameters: Float64Array) -> Float64Array:
        x0, y0, log_along, log_across, wave_x, wave_y = parameters
        frequency = np.hypot(wave_x, wave_y)
        direction = np.array([wave_x, wave_y]) / max(frequency, 1e-12)
        along, across = (
            (x - x0) * direction[0] + (y - y0) * direction[1],
            (y - y0) * direction[0] - (x - x0) * direction[1],
        )
        envelope = np.exp(-0.5 * ((along / np.exp(log_along)) ** 2 + (across / np.exp(log_across)) ** 2))
        phase = 2 * np.pi * frequency * along
        columns = (envelope * np.cos(phase), envelope * np.sin(phase), np.ones_like(x))
        return np.stack([column.ravel() for column in columns], axis=1)

    def residual(parameters: Float64Array) -> Float64Array:
        A = design(parameters)
        left: Float64Array = target - A @ np.linalg.lstsq(A, target, rcond=None)[0]
        return left

    low, high = np.log(WIDTHS[0]), np.log(WIDTHS[1])
    bound = FREQUENCIES[1]
    bounds = ([-0.6, -0.6, low, low, -bound, -bound], [0.6, 0.6, high, high, bound, bound])
    best = None
    for wave in _peaks(patch):
        start = np.array([*center, np.log(0.25), np.log(0.25), *wave])
        found = least_squares(residual, np.clip(start, *bounds), bounds=bounds, max_nfev=100)
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    A = design(best.x)
    cosine, sine, constant = np.linalg.lstsq(A, target, rcond=None)[0]
    x0, y0, log_along, log_across, wave_x, wave_y = (float(value) for value in best.x)
    return GaborFit(
        r_squared=1.0 - 2.0 * float(best.cost) / power,
        orientation=float(np.arctan2(wave_y, wave_x) % np.pi),
        frequency=float(np.hypot(wave_x, wave_y)),
        center=(x0, y0),
        widths=(float(np.exp(log_along)), float(np.exp(log_across))),
        patch=(A @ [cosine, sine, constant]).reshape(side, side),
        shifted=(A @ [-sine, cosine, 0.0]).reshape(side, side),
    )


def _peaks(patch: Float64Array) -> list[tuple[float, float]]:
    """Return the waves (x, y) of the strongest peaks of the spectrum, in periods per side."""
    padded = 4 * len(patch)
    spectrum = np.abs(np.fft.fft2(patch - patch.mean(), s=(padded, padded)))
    frequency = np.fft.fftfreq(padded) * (len(patch) - 1)
    wave_y, wave_x = np.meshgrid(frequency, frequency, indexing="ij")
    allowed = (
        (wave_x >= 0) & (np.hypot(wave_x, wave_y) >= FREQUENCIES[0]) & (np.hypot(wave_x, wave_y) <= FREQUENCIES[1])
    )
    peaks: list[tuple[float, float]] = []
    for index in np.argsort(-np.where(allowed, spectrum, -1.0), axis=None):
        wave = float(wave_x.flat[index]), float(wave_y.flat[index])
        if all(np.hypot(wave[0] - other[0], wave[1] - other[1]) > 1.0 for other in peaks):
            peaks.append(wave)
        if len(peaks) == N_PEAKS:
            break
    return peaks
