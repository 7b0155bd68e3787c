"""Surrogates keep what they should keep."""

import numpy as np

from biosfa.kernels.surrogates import phase_randomised


def test_columns_keep_their_spectra_and_share_nothing():
    rng = np.random.default_rng(0)
    common = rng.standard_normal(1501).cumsum()
    X = np.column_stack([common, common]) + rng.standard_normal((1501, 2))
    lengths = np.array([1000, 501])
    made = phase_randomised(X, lengths, rng)
    for rows in (slice(0, 1000), slice(1000, 1501)):
        spectra = (np.abs(np.fft.rfft(samples[rows], axis=0)) for samples in (X, made))
        np.testing.assert_allclose(*spectra, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(made[rows].mean(axis=0), X[rows].mean(axis=0))
    assert np.corrcoef(X[:1000].T)[0, 1] > 0.9
    many = [phase_randomised(X[:1000], np.array([1000]), rng) for _ in range(50)]
    assert abs(np.mean([np.corrcoef(each.T)[0, 1] for each in many])) < 0.3
    assert np.isrealobj(made)
