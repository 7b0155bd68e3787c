"""Model files: whole, safe, and exact."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import biosfa
from biosfa import SFA, Annealed, BioSFA, InverseTime, LocalSFA, ModelFileError, OnlineSFA, QuadraticExpansion
from biosfa.estimators import to_model
from biosfa.io import model_file
from tests.conftest import posix, slow_mixture
from tests.processes import forked

MODELS = {
    "sfa": SFA(2),
    "sfa-delays": SFA(2, n_delays=3, lag=2, expansion="quadratic"),
    "auto": BioSFA(3, random_state=0),
    "one": BioSFA(1, learning_rate=InverseTime(100.0, 0.1), tau=0.5, random_state=0),
    "large": BioSFA(
        16, n_delays=5, expansion=QuadraticExpansion(), dtype=np.float32, random_state=np.random.RandomState(0)
    ),
    "online": OnlineSFA(2, random_state=0),
    "local": LocalSFA(2, random_state=0),
    "local-forgetful": LocalSFA(3, n_delays=2, forget=80, dtype=np.float32),
    "local-interneurons": LocalSFA(2, input_layer=3, random_state=0),
    "input-layer": BioSFA(2, input_layer="lateral", random_state=0),
    "input-interneurons": BioSFA(3, rule="interneuron", input_layer=2, forget=80, random_state=0),
    "online-large": OnlineSFA(4, n_delays=3, expansion="quadratic", whitening_rank=5, forget=80),
    "reversible": BioSFA(2, rule="reversible", learning_rate=Annealed(1e-3, 100.0), dynamics="euler", center=False),
    "interneuron": BioSFA(3, rule="interneuron", random_state=0),
    "nonnegative": BioSFA(2, rule="nonnegative", forget=80, random_state=0),
}


@pytest.fixture(scope="module")
def X():
    return slow_mixture(300, times=(30.0, 5.0), n_noise=3, seed=1)[1]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("closed", [True, False])
def test_saved_and_loaded_it_goes_on_bit_for_bit(name, closed, X, tmp_path):
    model = clone(MODELS[name]).partial_fit(X[:101])
    if closed:
        model.end_episode()
    path = tmp_path / "model"
    model.save(path)
    loaded = biosfa.load(path)
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    for part in (X[101:150], X[150:151], X[151:]):
        model.partial_fit(part)
        loaded.partial_fit(part)
        np.testing.assert_array_equal(loaded.components_, model.components_)
        np.testing.assert_array_equal(loaded.delta_values_, model.delta_values_)
    again = tmp_path / "again"
    loaded.save(again)
    model.save(path)
    assert path.read_bytes() == again.read_bytes()


def test_parallel_streams_and_names_of_columns_are_kept(X, tmp_path):
    cube = X.reshape(-1, 3, 5)
    net = BioSFA(2, random_state=0).partial_fit_streams(cube)
    net.save(tmp_path / "streams")
    loaded = BioSFA.load(tmp_path / "streams").partial_fit_streams(cube)
    np.testing.assert_array_equal(loaded.W_, net.partial_fit_streams(cube).W_)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde"))
    SFA(2).fit(frame).save(tmp_path / "named")
    assert list(SFA.load(tmp_path / "named").feature_names_in_) == list("abcde")


def rate(t):
    return 1e-3 / t


def test_what_a_file_cannot_hold_is_asked_for(X, tmp_path):
    expansion = PolynomialFeatures(3, include_bias=False)
    net = BioSFA(2, learning_rate=rate, expansion=expansion, random_state=0).partial_fit(X)
    net.save(tmp_path / "own")
    with pytest.raises(ModelFileError, match=r"load\(path, expansion="):
        biosfa.load(tmp_path / "own")
    with pytest.raises(ModelFileError, match=r"load\(path, learning_rate="):
        biosfa.load(tmp_path / "own", expansion=net.expansion_)
    with pytest.raises(ValueError, match=r"is not fitted.*expansion_"):
        biosfa.load(tmp_path / "own", learning_rate=rate, expansion=expansion)
    loaded = biosfa.load(tmp_path / "own", learning_rate=rate, expansion=net.expansion_)
    np.testing.assert_array_equal(loaded.partial_fit(X).W_, net.partial_fit(X).W_)
    with pytest.raises(TypeError, match="has no parameter speed"):
        biosfa.load(tmp_path / "own", speed=1)
    with pytest.raises(ValueError, match="n_components=2, which cannot be replaced"):
        biosfa.load(tmp_path / "own", n_components=1)


def test_wrong_files_are_named(X, tmp_path):
    SFA(2).fit(X).save(tmp_path / "sfa")
    with pytest.raises(ModelFileError, match="holds SFA, not BioSFA"):
        BioSFA.load(tmp_path / "sfa")
    with pytest.raises(FileNotFoundError):
        biosfa.load(tmp_path / "nowhere")
    (tmp_path / "text").write_text("not a model")
    with pytest.raises(ModelFileError, match="text is not a biosfa model"):
        biosfa.load(tmp_path / "text")
    (tmp_path / "other").write_bytes(save({"a": np.zeros(3)}))
    with pytest.raises(ModelFileError, match="other is not a biosfa model"):
        biosfa.load(tmp_path / "other")
    with pytest.raises(ValueError, match="not fitted"):
        SFA(2).save(tmp_path / "unfitted")
    assert not (tmp_path / "unfitted").exists()


def forge(path, target, change):
    """A file with changed content and a digest that fits it."""
    model = model_file.read_model(path)
    model_file.write_model(target, change(model))


def test_consistent_but_senseless_files_are_refused(X, tmp_path, monkeypatch):
    path, forged = tmp_path / "model", tmp_path / "forged"
    BioSFA(2, random_state=0).fit(X).save(path)
    changes = {
        "does not know": lambda model: model._replace(kind="Oracle"),
        "incomplete": lambda model: model._replace(settings={}),
        "M is float64 of shape": lambda model: model._replace(arrays=model.arrays | {"network.M": np.eye(3)}),
    }
    for message, change in changes.items():
        forge(path, forged, change)
        with pytest.raises(ModelFileError, match=message):
            biosfa.load(forged)
    monkeypatch.setattr(model_file, "SCHEMA", newer := model_file.SCHEMA + 1)
    model_file.write_model(forged, model_file.Model("SFA", {}, {}))
    monkeypatch.setattr(model_file, "SCHEMA", 1)
    model_file.write_model(tmp_path / "old", model_file.Model("SFA", {}, {}))
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"schema 1.*fit the model again"):
        biosfa.load(tmp_path / "old")
    with pytest.raises(ModelFileError, match=rf"schema {newer}.*upgrade"):
        biosfa.load(forged)


@pytest.fixture(scope="module")
def content(X, tmp_path_factory):
    path = tmp_path_factory.mktemp("content") / "model"
    BioSFA(2, random_state=0).fit(X).save(path)
    return path.read_bytes()


@given(st.data())
@settings(max_examples=300)
def test_cut_or_altered_files_give_a_clear_error(content, tmp_path_factory, data):
    damaged = bytearray(content)
    if data.draw(st.booleans(), "cut"):
        del damaged[data.draw(st.integers(0, len(content) - 1), "length") :]
    else:
        position = data.draw(st.integers(0, len(content) - 1), "position")
        damaged[position] ^= data.draw(st.integers(1, 255), "flipped bits")
    path = tmp_path_factory.getbasetemp() / f"damaged-{os.getpid()}"
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="damaged-"):
        biosfa.load(path)


def save_and_be_killed(path, moment):
    """Save over an old file, and be killed while the new one is being written, or just before it takes its place."""
    X = slow_mixture(300, times=(30.0, 5.0), n_noise=3, seed=1)[1]
    name = {"writing": "fsync", "renaming": "replace"}[moment]
    setattr(model_file.os, name, lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
    BioSFA(2, random_state=1).fit(X).save(path)


@posix
@pytest.mark.parametrize("moment", ["writing", "renaming"])
def test_a_crash_while_saving_leaves_the_old_file_whole(moment, X, tmp_path):
    path = tmp_path / "model"
    BioSFA(2, random_state=0).fit(X).save(path)
    before = path.read_bytes()
    process = forked(save_and_be_killed, path, moment)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert path.read_bytes() == before


def test_a_failed_save_leaves_no_litter(X, tmp_path, monkeypatch):
    path = tmp_path / "model"
    net = BioSFA(2, random_state=0).fit(X)
    net.save(path)
    before = path.read_bytes()

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(model_file.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        net.partial_fit(X).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_settings_are_readable_json(content):
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    assert json.loads(header["biosfa"])["settings"]["parameters"]["n_components"] == 2


@pytest.mark.parametrize("name", MODELS)
def test_features_can_be_computed_from_the_file_alone(name, X, tmp_path):
    """What stands beside the state, read with safetensors, applied to the expanded signal."""
    model = clone(MODELS[name]).fit(X)
    model.save(tmp_path / "model")
    with safe_open(tmp_path / "model", framework="numpy") as file:
        components, mean = file.get_tensor("components"), file.get_tensor("mean")
    features = (model.expand(X) - mean) @ components.T
    np.testing.assert_allclose(features, model.transform(X), rtol=1e-5, atol=1e-5 * np.nanmax(np.abs(features)))


def test_checkpoints_of_exact_sfa_hold_moments_only(X):
    sfa = SFA(2).fit(X)
    beside = set(to_model(sfa).arrays) - set(to_model(sfa, published=False).arrays)
    assert beside == {"components", "mean", "delta_values", "redundant_features"}


def test_an_expansion_fitted_inside_comes_back_as_it_was(X, tmp_path):
    net = BioSFA(2, expansion=StandardScaler(), random_state=0).partial_fit(100 * X + 7)
    net.save(tmp_path / "scaled")
    loaded = biosfa.load(tmp_path / "scaled", expansion=net.expansion_)
    np.testing.assert_array_equal(loaded.transform(X), net.transform(X))


def test_a_fresh_process_can_load(X, tmp_path):
    SFA(2).fit(X).save(tmp_path / "model")
    code = f"import biosfa; print(biosfa.load({str(tmp_path / 'model')!r}))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "SFA(n_components=2)"
