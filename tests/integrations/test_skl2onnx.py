"""skl2onnx converts pipelines that contain our estimators."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from biosfa import SFA, BioSFA, CuBICA, HierarchicalSFA, OnlineSFA, QuadraticExpansion
from biosfa.hierarchy import Layer
from biosfa.integrations.skl2onnx import register
from biosfa.rivals import IncrementalSFA
from tests.conftest import slow_mixture

skl2onnx = pytest.importorskip("skl2onnx")

PIPELINES = {
    "all steps": make_pipeline(StandardScaler(), SFA(3, pca=5, n_delays=2, expansion="quadratic")),
    "online": make_pipeline(StandardScaler(), OnlineSFA(3, random_state=0), CuBICA()),
    "expansion": make_pipeline(QuadraticExpansion(), BioSFA(2, random_state=0)),
    "rival": make_pipeline(IncrementalSFA(2, random_state=0), StandardScaler()),
}


def converted(pipeline, X):
    register()
    return onnxruntime.InferenceSession(skl2onnx.to_onnx(pipeline, X[:1]).SerializeToString()).run(None, {"X": X})[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_computes_the_same(name, dtype):
    X = (100 * slow_mixture(1000)[1]).astype(dtype)
    pipeline = PIPELINES[name].fit(X)
    expected, found = pipeline.transform(X), converted(pipeline, X)
    assert found.dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    deviations = np.nanstd(expected, axis=0)
    assert np.nanmax(np.abs(found - expected) / deviations) < (1e-10 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "pipeline", [SFA(2), make_pipeline(SFA(3, n_delays=2), StandardScaler())], ids=["SFA", "first"]
)
def test_a_frame_has_one_input_per_column(pipeline, dtype):
    X = slow_mixture(1000)[1].astype(dtype)
    frame = pd.DataFrame(X, columns=[f"sensor{i}" for i in range(X.shape[1])])
    expected = pipeline.fit(frame).transform(frame)
    register()
    run = onnxruntime.InferenceSession(skl2onnx.to_onnx(pipeline, frame[:1]).SerializeToString())
    found = run.run(None, {name: frame[[name]].to_numpy() for name in frame})[0]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_a_hierarchy_and_independent_components(dtype):
    frames = (np.random.default_rng(0).integers(0, 255, (300, 8, 12)).cumsum(axis=0) % 255).astype(dtype)
    layers = [Layer((4, 4), n_components=3, n_reduced=4), Layer((3, 5), n_components=2, n_reduced=4)]
    pipeline = make_pipeline(HierarchicalSFA(layers, solver="exact"), CuBICA()).fit(frames)
    np.testing.assert_allclose(converted(pipeline, frames), pipeline.transform(frames), atol=1e-4)
