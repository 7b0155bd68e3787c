"""ONNX Runtime computes the same from an exported graph as the model itself."""

import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import biosfa
from biosfa import (
    SFA,
    BioSFA,
    CuBICA,
    GraphSFA,
    HierarchicalSFA,
    LocalSFA,
    OfflineBioSFA,
    OnlineSFA,
    QuadraticExpansion,
    extras,
    registry,
)
from biosfa.exceptions import MissingExtraError
from biosfa.hierarchy import Layer
from biosfa.integrations.onnx import to_onnx
from biosfa.integrations.onnx._maps import EXPANSIONS
from biosfa.kernels.local import RULES
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from tests.conftest import slow_mixture

# Largest difference, in standard deviations of a feature.
PRECISION = {np.float32: 1e-5, np.float64: 1e-10}


@pytest.fixture(scope="module")
def training():
    return slow_mixture(3000, n_noise=3)[1] + 3.0


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(1).standard_normal((1000, 6)) + 3.0


def session(model, **options):
    return onnxruntime.InferenceSession(to_onnx(model, **options).SerializeToString())


def windows(X, n_rows):
    """The last rows up to each row; NaN before the first."""
    before = np.full((n_rows - 1, X.shape[1]), np.nan, X.dtype)
    return np.lib.stride_tricks.sliding_window_view(np.concatenate([before, X]), n_rows, axis=0).transpose(0, 2, 1)


def assert_close(found, expected, deviations):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    found, expected = (np.where(np.isfinite(values), values, 0.0) for values in (found, expected))
    assert np.all(np.abs(found - expected) < PRECISION[expected.dtype.type] * deviations)


def assert_same_answers(model, X, expected, output="features"):
    """ONNX Runtime computes what is expected: from 1000 rows, from one, and, with delays, from a stream."""
    deviations = np.std(expected, axis=0, where=np.isfinite(expected))
    options = {"output": output, "dtype": X.dtype}
    run = session(model, **options)
    (given,) = run.get_inputs()
    samples = X if given.name == "X" else windows(X, given.shape[1])
    assert_close(run.run(None, {given.name: samples})[0], expected, deviations)
    for t in (0, 1, 700):
        assert_close(run.run(None, {given.name: samples[t : t + 1]})[0], expected[t : t + 1], deviations)
    if given.name == "window":
        assert_close(streamed(session(model, stream=True, **options), X), expected, deviations)


def streamed(run, X):
    """What is computed row by row, then in chunks of some rows."""
    state = np.full(run.get_inputs()[1].shape, np.nan, X.dtype)
    found = []
    for chunk in np.split(X, [*range(1, 20), 30, 31, 100]):
        features, state = run.run(None, {"X": chunk, "state": state})
        found.append(features)
    return np.concatenate(found)


MODELS = {
    "SFA": SFA(3),
    "SFA with all steps": SFA(3, pca=4, n_delays=2, expansion="quadratic"),
    "SFA with delays": SFA(3, n_delays=3),
    "OnlineSFA": OnlineSFA(3, random_state=0),
    "OnlineSFA with all steps": OnlineSFA(2, pca=3, n_delays=2, expansion="quadratic", random_state=0),
    "LocalSFA": LocalSFA(3, random_state=0),
    "BioSFA": BioSFA(3, random_state=0),
    "BioSFA behind an input layer": BioSFA(3, input_layer="lateral", random_state=0),
    "OfflineBioSFA": OfflineBioSFA(2, random_state=0),
    "CuBICA": CuBICA(3),
    "QuadraticExpansion": QuadraticExpansion(),
    "IncrementalSFA": IncrementalSFA(2, random_state=0),
    "OnlineGEV": OnlineGEV(2, random_state=0),
    "FoldiakTrace": FoldiakTrace(2, n_delays=2, random_state=0),
}


@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize("name", MODELS)
def test_features_are_those_of_transform(name, dtype, training, rows):
    model, X = clone(MODELS[name]).fit(training), rows.astype(dtype)
    assert_same_answers(model, X, model.transform(X))


@pytest.mark.parametrize("dtype", PRECISION)
def test_supervised_features_are_those_of_transform(dtype, training, rows):
    model, X = GraphSFA(2).fit(training, training[:, 0] > 3.0), rows.astype(dtype)
    assert_same_answers(model, X, model.transform(X))


@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize("rule", RULES)
def test_neural_outputs_are_those_of_the_network(rule, dtype, training, rows):
    net = BioSFA(4, rule=rule, n_delays=2, random_state=0).fit(training)
    X = rows.astype(dtype)
    assert_same_answers(net, X, net.neural_output(X), output="neural_output")


@pytest.mark.parametrize("dtype", PRECISION)
def test_missing_rows_have_no_features_in_a_stream(dtype, training, rows):
    sfa = SFA(3, n_delays=3, missing="break").fit(training)
    X = rows.astype(dtype)
    X[[0, 10, 700], [0, 2, 5]] = np.nan
    assert_same_answers(sfa, X, sfa.transform(X))


def test_every_expansion_can_be_exported():
    assert list(EXPANSIONS) == list(registry.EXPANSIONS)


@pytest.mark.parametrize("pca", [None, 4])
def test_a_large_mean_costs_no_digits(pca, training):
    """In float32, 1e4 and 1e4 + 1e-3 are neighbours; the mean lies between them."""
    X = (training + 1e4).astype(np.float32)
    sfa = SFA(3, pca=pca).fit(X)
    expected = sfa.transform(X[:1000].astype(np.float64))
    np.testing.assert_allclose(sfa.transform(X[:1000]), expected, atol=1e-4)
    assert_same_answers(sfa, X[:1000], sfa.transform(X[:1000]))


@pytest.mark.parametrize("name", ["SFA with all steps", "SFA with delays"])
def test_no_windows_have_no_features(name, training):
    run = session(clone(MODELS[name]).fit(training))
    given = run.get_inputs()[0]
    assert run.run(None, {given.name: np.zeros((0, *given.shape[1:]), np.float32)})[0].shape == (0, 3)


@pytest.fixture(scope="module")
def normal():
    """Rows of normal operation; the last column is constant."""
    return with_constant(slow_mixture(10_000, times=(20.0, 9.0, 4.0), n_noise=3)[1] + 3.0)


@pytest.fixture(scope="module")
def faulty(rows):
    """Rows with missing values, and other values of the constant column: where S² is known, and is not."""
    X = with_constant(rows)
    X[[0, 300, 301], -1] = 0.2
    X[[100, 301], 1] = np.nan
    return X


def with_constant(X):
    return np.column_stack([X, np.full(len(X), 0.1)])


@pytest.mark.parametrize("n_delays", [1, 3])
def test_statistics_are_those_of_a_monitor_now_and_after_it_has_accepted(n_delays, normal, faulty):
    monitor = SlowFeatureMonitor(n_delays=n_delays).fit(normal)
    for dtype in PRECISION:
        X = faulty.astype(dtype)
        assert_same_answers(monitor, X, monitor.statistics(X).astype(dtype))
    monitor.accept(faulty[500:])
    assert_same_answers(monitor, faulty, monitor.statistics(faulty))


def test_a_constant_column_of_float32_is_the_same_in_float64(normal):
    X = normal.astype(np.float32)
    monitor = SlowFeatureMonitor().fit(X)
    found = answers(monitor, X[:300].astype(np.float64), dtype=np.float64)
    np.testing.assert_allclose(found, monitor.statistics(X[:300]), rtol=1e-3)


def test_wild_values_are_out_of_every_limit(normal, faulty):
    monitor, X = SlowFeatureMonitor().fit(normal), faulty.astype(np.float32)
    X[500] = 1e30
    statistics = answers(monitor, X)
    assert np.all(statistics[500:502, 2:] > 1e20)
    assert np.all(statistics[500, :2] > 1e20)


def answers(model, X, **options):
    """What ONNX Runtime computes from samples, or from windows of them."""
    run = session(model, **options)
    (given,) = run.get_inputs()
    return run.run(None, {given.name: X if len(given.shape) == X.ndim else windows(X, given.shape[1])})[0]


@pytest.mark.parametrize("colours", [(), (3,)])
def test_a_hierarchy_computes_the_features_of_its_top_layer(colours):
    frames = np.random.default_rng(0).integers(0, 255, (1000, 8, 12, *colours)).cumsum(axis=0) % 255
    layers = [Layer((4, 6), (2, 3), n_components=3, n_reduced=4), Layer((2, 3), n_components=2, n_reduced=4)]
    network = HierarchicalSFA(layers, solver="exact").fit(frames)
    expected = network.transform(frames)
    assert expected.shape == (1000, 4)  # two modules at the top
    deviations = expected.std(axis=0)
    for n in (1, 1000):
        found = answers(network, frames[:n].astype(np.float32))
        assert np.all(np.abs(found - expected[:n]) < 1e-3 * deviations)
    with pytest.raises(ValueError, match=r"HierarchicalSFA computes in float32: .*--dtype float32"):
        to_onnx(network, dtype=np.float64)


def test_half_trained_hierarchies_are_not_exported():
    frames = np.random.default_rng(0).random((50, 4, 4))
    network = HierarchicalSFA([Layer((2, 2), n_components=2, n_reduced=2)] * 2, solver="random").fit(frames)
    network.history_.pop()
    with pytest.raises(ValueError, match="only 1 of 2 layers are trained"):
        to_onnx(network)


def notes(graph):
    return {note.key: note.value for note in graph.metadata_props}


def test_a_graph_says_what_it_is(training):
    frame = pd.DataFrame(training, columns=list("abcdef"))
    graph = to_onnx(SFA(2).fit(frame))
    sfa = SFA(2).fit(frame)
    said = notes(graph)
    assert (graph.producer_name, graph.producer_version) == ("biosfa", biosfa.__version__)
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", 17)]
    assert said["biosfa"] == biosfa.__version__
    assert said["model"] == "SFA"
    assert json.loads(said["columns"]) == list("abcdef")
    assert json.loads(said["delta_values"]) == sfa.delta_values_.tolist()


def test_the_graph_of_a_monitor_has_its_limits(normal):
    monitor = SlowFeatureMonitor().fit(normal)
    said = notes(to_onnx(monitor))
    assert json.loads(said["limits"]) == monitor.limits_.tolist()
    assert json.loads(said["statistics"]) == ["T² slow", "T² rest", "S² slow", "S² rest"]


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (SFA(1), {}, NotFittedError, "not fitted"),
        (PolynomialFeatures(), {}, TypeError, r"PolynomialFeatures cannot be exported, only .*"),
        (make_pipeline(SFA(1)), {}, TypeError, r"Pipeline .* skl2onnx"),
        (CuBICA(2), {"output": "neural_output"}, ValueError, "only BioSFA has a neural output, not CuBICA"),
        (CuBICA(2), {"output": "weights"}, ValueError, "output must be"),
        (CuBICA(2), {"dtype": np.int64}, ValueError, "dtype must be float32 or float64"),
        (
            SFA(1, expansion=PolynomialFeatures(3, include_bias=False)),
            {},
            ValueError,
            r"PolynomialFeatures cannot .*, only .*'quadratic'",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_exported_is_one_line(model, options, error, message, training):
    model = clone(model) if error is NotFittedError else clone(model).fit(training)
    with pytest.raises(error, match=message) as caught:
        to_onnx(model, **options)
    assert "\n" not in str(caught.value)


def test_numbers_that_float32_cannot_hold_are_an_error(training):
    sfa = SFA(1).fit(training * 1e-40)
    with pytest.raises(ValueError, match=r"too large for float32: .*--dtype float64"):
        to_onnx(sfa)
    X = training[:1000] * 1e-40
    assert_same_answers(sfa, X, sfa.transform(X))


def test_the_command_writes_the_graph(command, training, tmp_path):
    net = BioSFA(2, n_delays=2, random_state=0).fit(training)
    net.save(tmp_path / "model.safetensors")
    printed = command("export", "model.safetensors", "--out", "model.onnx", cwd=tmp_path).stdout
    size = (tmp_path / "model.onnx").stat().st_size
    assert printed == f"model.onnx: {size:,} bytes\ninput: window (n, 2, 6)\noutput: features (n, 2)\n"
    assert onnx.load(tmp_path / "model.onnx") == to_onnx(net)
    options = ("--stream", "--output", "neural_output", "--dtype", "float64")
    printed = command("export", "model.safetensors", "--out", "model.onnx", *options, cwd=tmp_path).stdout
    assert printed.splitlines()[1:] == [
        "input: X (n, 6)",
        "input: state (1, 6)",
        "output: neural_output (n, 2)",
        "output: next_state (1, 6)",
    ]
    assert onnx.load(tmp_path / "model.onnx") == to_onnx(net, stream=True, output="neural_output", dtype=np.float64)


def test_the_command_says_what_is_wrong_in_one_line(command, training, tmp_path):
    SFA(1).fit(training).save(tmp_path / "model")
    named = command("export", "model", "--out", "x.onnx", "--output", "neural_output", cwd=tmp_path, code=1).stderr
    assert named == "biosfa: only BioSFA has a neural output, not SFA: leave output='features' (--output features)\n"
    assert "is an input" in command("export", "model", "--out", "model", cwd=tmp_path, code=1).stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_the_command_says_that_a_transformer_of_your_own_needs_a_pipeline(command, training, tmp_path):
    SFA(1, expansion=PolynomialFeatures(2, include_bias=False)).fit(training).save(tmp_path / "model")
    said = command("export", "model", "--out", "model.onnx", cwd=tmp_path, code=1).stderr
    assert said.startswith("biosfa: model cannot be exported, because its expansion is a transformer of your own")
    assert "Pipeline" in said
    assert "load(path" not in said
    assert said.count("\n") == 1


def test_the_command_still_names_other_parameters_that_a_file_cannot_hold(command, training, tmp_path):
    BioSFA(1, learning_rate=lambda t: 0.01, random_state=0).fit(training).save(tmp_path / "model")
    said = command("export", "model", "--out", "model.onnx", cwd=tmp_path, code=1).stderr
    assert "load(path, learning_rate=...)" in said


def test_a_host_that_is_missing_or_old_names_the_extra(training, monkeypatch):
    sfa = SFA(1).fit(training)
    with monkeypatch.context() as patch:
        patch.setattr(extras, "version", lambda library: "1.9.0")
        with pytest.raises(MissingExtraError) as caught:
            to_onnx(sfa)
    assert str(caught.value) == 'this needs onnx 1.17 or later, but 1.9.0 is installed: pip install "biosfa[onnx]"'
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r'this needs onnx: pip install "biosfa\[onnx\]"'):
        to_onnx(sfa)


def test_the_host_is_imported_when_it_is_used():
    code = "import sys, biosfa.cli, biosfa.integrations.onnx; print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
