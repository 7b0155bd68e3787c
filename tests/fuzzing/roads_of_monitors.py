"""Monitors by every road: the statistics, verdicts and causes of the same rows."""

import numpy as np

from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor
from tests.fuzzing.agreement import DOUBLE, SINGLE, Comparison, answers_of_onnx, dask_array, dask_frame

BEYOND = 1e15  # larger statistics are not told apart


def compare(rng, folder):
    """Raise Disagreement if a road gives other verdicts than the rows in memory."""
    X, rows, lengths, settings = configuration(rng)
    fitted = SlowFeatureMonitor(**settings)
    path = folder / "monitor"

    def watched(monitor, size):
        parts = [monitor.watch_chunk(chunk) for chunk in open_stream(rows, size, episodes=lengths, missing="break")]
        return {
            "statistics": bounded(np.concatenate([part.statistics for part in parts])),
            "verdicts": np.concatenate([part.verdicts for part in parts]),
            "causes": np.concatenate([part.causes for part in parts]),
        }

    def reference():
        fitted.fit(X).save(path)
        return watched(fresh(), len(rows))

    def fresh():
        return SlowFeatureMonitor.load(path)

    comparison = Comparison(reference, (X.dtype, len(X), X.shape[1], lengths, settings))

    def row_by_row():
        monitor, begin, found = fresh(), 0, []
        for length in lengths:
            found += [monitor.update(row) for row in rows[begin : begin + length]]
            monitor.end_episode()
            begin += length
        return {
            "statistics": bounded(np.array([each.statistics for each in found])),
            "verdicts": np.array([each.verdict for each in found]),
        }

    def at_once(rows):
        stream = open_stream(rows, int(rng.integers(1, 900)), episodes=lengths, missing="break")
        return {"statistics": bounded(fresh().statistics(stream)), "verdicts": fresh().verdicts(stream)}

    def learned_from(source):
        found = watched(SlowFeatureMonitor(**settings).fit(source), len(rows))
        del found["causes"]  # which columns count in a feature is decided by a limit, near which rounding matters
        return found

    single = X.dtype == np.float32  # statistics are sums of squares of features in this precision
    tolerance = {"statistics": 10.0 * SINGLE if single else DOUBLE, "verdicts": 0.0, "causes": 1e-4 if single else 1e-6}
    roads = {
        "chunk of one row": lambda: watched(fresh(), 1),
        "chunks": lambda: watched(fresh(), int(rng.integers(2, 400))),
        "row by row": row_by_row,
        "learned from a stream": lambda: learned_from(open_stream(X, int(rng.integers(50, 500)))),
        "learned from an array of Dask": lambda: learned_from(open_stream(dask_array(rng, X))),
    }
    if settings["forget"] is None:
        roads |= {
            "stream": lambda: at_once(rows),
            "array of Dask": lambda: at_once(dask_array(rng, rows)),
            "frame of Dask": lambda: at_once(dask_frame(rng, rows)),
        }
        if comparison.refusal is None:
            roads["ONNX"] = lambda: {"statistics": bounded(answers_of_onnx(rng, fresh(), rows, lengths, stream=True))}
    for road, results in roads.items():
        comparison.check(road, results, tolerance)
    comparison.end()


def bounded(statistics):
    """Statistics of which the very large ones are infinite."""
    return np.where(statistics > BEYOND, np.inf, statistics)


def configuration(rng):
    """Rows of normal operation, rows to watch, lengths of their episodes, and settings."""
    n, m = int(rng.integers(1500, 2500)), int(rng.integers(1, 6))
    X = np.zeros((n, m))
    noise, keep = rng.standard_normal((n, m)), 1.0 - 1.0 / (20.0 * np.arange(1, m + 1))
    for t in range(1, n):
        X[t] = keep * X[t - 1] + noise[t]
    X = (X + rng.standard_normal((n, m))) @ (np.eye(m) + 0.3 * rng.standard_normal((m, m)))
    if rng.random() < 0.3:
        X = np.column_stack([X, np.full(n, float(rng.choice([0.0, 3.7, -100.0])))])
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    rows = X[:600].copy()
    rows[300:] += rng.choice([0.0, 5.0]) * X.std(axis=0)
    if rng.random() < 0.4:
        rows[rng.integers(0, 600, 5), rng.integers(0, X.shape[1])] = np.nan
    cuts = np.sort(rng.choice(np.arange(1, 600), rng.integers(0, 4), replace=False))
    settings = {
        "n_delays": int(rng.choice([1, 1, 2, 3])),
        "expansion": "quadratic" if m <= 3 and rng.random() < 0.2 else None,
        "slow_share": float(rng.choice([0.3, 0.5, 0.9])),
        "family": bool(rng.random() < 0.3),
        "persistence": [(1, 1), (2, 3), (3, 10)][rng.integers(3)],
        "forget": float(rng.choice([1500, 3000])) if rng.random() < 0.4 else None,
    }
    return X, rows, np.diff([0, *cuts, 600]).tolist(), settings
