"""Online learners by every road."""

from contextlib import suppress

import numpy as np
import pandas as pd

import biosfa
from biosfa import BioSFA, LocalSFA, OnlineSFA
from biosfa.extras import MissingExtraError
from biosfa.io import open_stream
from tests.fuzzing.agreement import (
    DOUBLE,
    Comparison,
    answers_of_onnx,
    chunks_of,
    dask_array,
    dask_frame,
    names_of,
    write_table,
)

river = None
with suppress(MissingExtraError):
    from biosfa.integrations import river

GROWN = 1e-7  # of BioSFA, whose explicit steps let rounding errors grow before its weights settle
LEARNERS = (OnlineSFA, LocalSFA, BioSFA)


def compare(rng, folder):
    """Raise Disagreement if a road gives another model than the array in memory."""
    X, learner, settings = configuration(rng)
    n, some = len(X), X[:50]

    def new():
        return learner(**settings)

    def results(model):
        return {"slowness": model.delta_values_, "features": model.transform(some)}

    reference = new()
    comparison = Comparison(lambda: results(reference.partial_fit(X)), (learner.__name__, n, X.shape[1], settings))

    def in_chunks():
        model = new()
        for chunk in chunks_of(rng, n, (1, 2, 7, 300)):
            model.partial_fit(X[chunk])
        return results(model)

    def one_by_one():
        model = new()
        for row in X:
            model.learn_one(row)
        return results(model)

    def saved_midway():
        model, half = new().partial_fit(X[: n // 2]), folder / "half"
        model.save(half)
        return results(biosfa.load(half).partial_fit(X[n // 2 :]))

    def in_river(many):
        model = getattr(river, learner.__name__)(
            settings["n_components"], seed=settings["random_state"], forget=settings["forget"]
        )
        if many:
            for chunk in chunks_of(rng, n, (50, 211)):
                model.learn_many(pd.DataFrame(X[chunk], columns=names_of(X)))
        else:
            for row in X.tolist():
                model.learn_one(dict(zip(names_of(X), row, strict=True)))
        return results(model.estimator)

    roads = {
        "fit": lambda: results(new().fit(X)),
        "chunks": in_chunks,
        "one by one": one_by_one,
        "stream": lambda: results(new().fit(open_stream(X, int(rng.choice([7, 500]))))),
        "file": lambda: results(new().fit(open_stream(write_table(rng, X, folder), 100))),
        "array of Dask": lambda: results(new().fit(dask_array(rng, X))),
        "frame of Dask": lambda: results(unnamed(new().fit(dask_frame(rng, X)))),
        "saved": saved_midway,
        "ONNX": lambda: {"features": answers_of_onnx(rng, reference, some, [len(some)], stream=False)},
    }
    if river is not None:
        roads |= {"river, one": lambda: in_river(False), "river, many": lambda: in_river(True)}
    for road, results_of in roads.items():
        comparison.check(road, results_of, {"slowness": DOUBLE, "features": GROWN if learner is BioSFA else DOUBLE})
    comparison.end()


def unnamed(model):
    """The model without the names of its columns, for rows without names."""
    del model.feature_names_in_
    return model


def configuration(rng):
    """Rows, a learner and its settings."""
    n, m = int(rng.integers(500, 2000)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, m)).cumsum(axis=0) * 0.1 * np.arange(1, m + 1) ** -0.5
    X = (X + rng.standard_normal((n, m))) @ (np.eye(m) + 0.3 * rng.standard_normal((m, m)))
    if rng.random() < 0.3:
        X = np.column_stack([X, np.full(n, float(rng.choice([0.0, 3.7, -100.0])))])
    settings = {
        "n_components": int(rng.integers(1, m + 1)),
        "random_state": int(rng.integers(5)),
        "forget": float(rng.choice([300, 1000])) if rng.random() < 0.3 else None,
    }
    return X, LEARNERS[rng.integers(len(LEARNERS))], settings
