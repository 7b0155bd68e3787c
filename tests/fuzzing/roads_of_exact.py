"""Exact SFA by every road."""

import numpy as np
from scipy.linalg import eigh

from biosfa import SFA, load
from biosfa.io import open_stream
from tests.fuzzing.agreement import (
    DOUBLE,
    SINGLE,
    Comparison,
    answers_of_onnx,
    chunks_of,
    dask_array,
    dask_frame,
    dated_frame,
    write_table,
)

LITERAL = 100.0  # times the tolerance, for the literal solution, which knows no tricks against rounding
NEAREST = 1e-6  # distance of two δ, relative to the largest, below which features are not told apart


def compare(rng, folder):
    """Raise Disagreement if a road gives another model than the array in memory."""
    X, lengths, settings, weights = configuration(rng)
    cuts, n = np.cumsum(lengths)[:-1], len(X)
    starts = np.isin(np.arange(n), [0, *cuts])
    weighted = {} if weights is None else {"sample_weight": weights}
    streamed = {"episodes": lengths, "missing": settings["missing"]}

    def new():
        return SFA(**settings)

    def results(model, features=None):
        found = model.transform(X, lengths=lengths) if features is None else features
        return {"slowness": model.delta_values_, "features": found}

    reference = new()
    comparison = Comparison(lambda: results(reference.fit(X, lengths=lengths, **weighted)), (X.dtype, n, settings))
    single = X.dtype.itemsize == 4 and X.dtype.kind == "f"
    delta = comparison.wanted.get("slowness", np.zeros(1))
    nearest = np.diff(delta).min(initial=1.0) / max(delta.max(), 1e-300)
    slowness = SINGLE if single else DOUBLE
    tolerance = {"slowness": slowness, "features": 10.0 * slowness / max(nearest, NEAREST)}

    def in_chunks():
        model = new()
        for chunk in chunks_of(rng, n):
            part = {} if weights is None else {"sample_weight": weights[chunk]}
            model.partial_fit(X[chunk], starts=starts[chunk], **part)
        return results(model)

    def as_stream():
        model = new().fit(open_stream(X, int(rng.choice([1, 2, 7, 64, 1000])), **streamed))
        stream = open_stream(X, int(rng.choice([1, 3, 50])), **streamed)
        return results(model, np.concatenate(list(model.transform_chunks(stream))))

    def in_a_file():
        path = write_table(rng, X, folder)
        return results(new().fit(open_stream(path, int(rng.choice([1, 7, 64, 1000])), **streamed)), features_of(path))

    def features_of(path):
        return np.concatenate(list(reference.transform_chunks(open_stream(X, 50, **streamed))))

    def as_dask_array():
        collection = dask_array(rng, X)
        model = new().fit(collection, lengths=lengths, **weighted)
        return results(model, model.transform(collection, lengths=lengths).compute())

    def as_dask_frame():
        frame = dask_frame(rng, X)
        whole = len(lengths) == 1 and weights is None  # whose partitions need not be counted
        sizes = None if whole and rng.random() < 0.5 else lengths
        model = new().fit(frame, lengths=sizes, **weighted)
        return results(model, model.transform(frame, lengths=sizes).compute())

    def with_labels():
        labels = np.array([f"e{number}" for number in np.cumsum(starts)])
        model = new().fit(X, episode=labels, **weighted)
        return results(model, model.transform(X, episode=labels))

    def with_dates():
        frame = dated_frame(X, lengths)
        model = new().fit(frame, **weighted)
        return results(model, model.transform(frame))

    def saved():
        reference.save(folder / "model")
        return results(load(folder / "model"))

    def exported():
        stream = settings["n_delays"] > 1
        return {"features": answers_of_onnx(rng, reference, X, lengths, stream=stream)}

    def merged():
        end = lengths[0]
        return results(new().partial_fit(X[:end]).merge(new().partial_fit(X[end:], lengths=lengths[1:])))

    def literal():
        return {"slowness": literal_slowness(X.astype(np.float64), starts, settings)}

    learned = comparison.refusal is None
    in_one_pass = settings["pca"] is None
    roads = {
        "chunks": in_chunks if in_one_pass else None,
        "stream": as_stream if weights is None else None,
        "file": in_a_file if weights is None else None,
        "array of Dask": as_dask_array,
        "frame of Dask": as_dask_frame,
        "labels": with_labels,
        "dates": with_dates if min(lengths) > 1 else None,
        "saved": saved if learned else None,
        "ONNX": exported if learned else None,
        "merge": merged if in_one_pass and weights is None and len(lengths) > 1 else None,
        "literal": literal if learned and in_one_pass and weights is None else None,
    }
    for road, results_of in roads.items():
        if results_of is not None:
            factor = {"literal": LITERAL, "ONNX": 10.0 if single else 1.0}.get(road, 1.0)
            comparison.check(road, results_of, {name: factor * limit for name, limit in tolerance.items()})
    comparison.end()


def configuration(rng):
    """Rows, lengths of their episodes, settings of SFA, and weights or None."""
    n, m = int(rng.integers(60, 900)), int(rng.integers(1, 6))
    quadratic = m <= 3 and rng.random() < 0.25
    n_delays, lag = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 1, 2, 5]))
    pca = int(rng.integers(1, m + 1)) if rng.random() < 0.25 else None
    walk = rng.standard_normal((n, m)).cumsum(axis=0) * 0.1 * np.arange(1, m + 1) ** -0.5
    X = (walk + rng.standard_normal((n, m))) @ (np.eye(m) + 0.3 * rng.standard_normal((m, m)))
    dtype = np.dtype(rng.choice(["f8", "f8", "f8", ">f8", "f4", "i8", "i4"]))
    if dtype.kind == "i":
        X = np.round(50 * X)
    else:
        offset = 0.0 if quadratic else float(rng.choice([0, 0, 1, 1e3, -1e5]))
        X = (X + offset) * float(rng.choice([1, 1, 1e-6, 1e6]))
    X = X.astype(dtype)
    missing = dtype.kind == "f" and rng.random() < 0.25
    if missing:
        X[rng.integers(0, n, max(1, n // 80)), rng.integers(0, m)] = np.nan
    cuts = np.sort(rng.choice(np.arange(1, n), rng.integers(0, 5), replace=False))
    width = (pca or m) * n_delays
    width += width * (width + 1) // 2 if quadratic else 0
    settings = {
        "n_components": int(rng.integers(1, min(width, 6) + 1)),
        "lag": lag,
        "n_delays": n_delays,
        "pca": pca,
        "expansion": "quadratic" if quadratic else None,
        "missing": "break" if missing else "raise",
    }
    weights = rng.random(n) * (rng.random(n) > 0.1) if not missing and rng.random() < 0.2 else None
    return laid_out(X, int(rng.integers(4))), np.diff([0, *cuts, n]).tolist(), settings, weights


def laid_out(X, way):
    """The same rows, laid out in memory in some way."""
    if way == 0:
        return np.asfortranarray(X)
    if way == 1:
        return np.repeat(X, 2, axis=0)[::2]
    if way == 2:
        X.flags.writeable = False
    return X


def literal_slowness(X, starts, settings):
    """The slowness of the features, from the definition: row by row, and one generalized eigenproblem."""
    n, n_delays, lag = len(X), settings["n_delays"], settings["lag"]
    known = np.isfinite(X).all(axis=1)
    run, signal = np.zeros(n, int), np.full((n, X.shape[1] * n_delays), np.nan)
    X = X - X[known].mean(axis=0) if settings["expansion"] is None else X
    for t in range(n):
        run[t] = 0 if not known[t] else 1 if t == 0 or starts[t] or not known[t - 1] else run[t - 1] + 1
        if run[t] >= n_delays:
            signal[t] = np.concatenate([X[t - delay] for delay in range(n_delays)])
    if settings["expansion"] is not None:
        first, second = np.triu_indices(signal.shape[1])
        signal = np.column_stack([signal, signal[:, first] * signal[:, second]])
    samples = signal[run >= n_delays]
    later = np.flatnonzero(run >= n_delays + lag)
    change = signal[later] - signal[later - lag]
    covariance = np.cov(samples.T, bias=True).reshape(signal.shape[1], -1)
    scale = 1.0 / np.sqrt(np.diag(covariance))
    units = np.outer(scale, scale)
    found = eigh(change.T @ change / len(later) * units, covariance * units, eigvals_only=True)
    return found[: settings["n_components"]]
